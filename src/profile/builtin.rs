//! The profiles that the service ships, embedded as they stand in `config/profiles/`.

/// File name and YAML of each.
pub const FILES: &[(&str, &str)] = &[("five-layer.yaml", include_str!("../../config/profiles/five-layer.yaml"))];
