//! The labels of the runtime facts.

/// The labels that the service writes itself, in their order. A turn's variable may not take one of them.
pub const RUNTIME_LABELS: [&str; 12] = [
    "Agent ID",
    "Agent name",
    "Remote user ID",
    "Remote user name",
    "Incoming channel",
    "Channel user ID",
    "Chat type",
    "Group ID",
    "Current time",
    "Time zone",
    "Workspace",
    "Heartbeat run",
];
