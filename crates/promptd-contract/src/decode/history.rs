//! A checked `PlanHistoryRequest`.

use std::{collections::HashSet, fmt, ops::RangeInclusive};

use super::{
    Limits, Violation, Violations,
    conversation::{role, tool_calls},
    id,
    request::workspace,
    values::timestamp,
};
use crate::proto;
use promptd_core::{
    history::{History, HistoryMessage, HistorySegment, Thresholds},
    id::Id,
};

/// The most messages of one request.
const MAX_MESSAGES: u32 = 500;
/// The longest embedding.
const MAX_DIMENSIONS: usize = 4_096;
/// The most messages that are compared at a place.
const MAX_WINDOW: u32 = 50;
/// The longest text that is compared, in UTF-16 units.
const MAX_UNITS: u32 = 100_000;
/// The most segments that are rolled up into one.
const MAX_ROLLUP: u32 = 1_000;
/// The longest summary, in tokens.
const MAX_TOKENS: u32 = 1_000_000;
/// The farthest that two vectors can be apart.
const MAX_DISTANCE: f32 = 2.0;

const SEGMENT_PROFILE: &str = "kern-segment-summary";
const ROLLUP_PROFILE: &str = "kern-rollup";

/// What a caller of `PlanHistory` asks for, checked.
#[derive(Debug)]
pub struct PlanRequest {
    /// The workspace.
    pub workspace: Id,
    /// The messages and segments.
    pub history: History,
    /// The thresholds of the plan.
    pub thresholds: Thresholds,
    /// The profile that writes the summary of a segment.
    pub segment_profile: Id,
    /// The profile that writes the summary of a rollup.
    pub rollup_profile: Id,
    /// Whether the texts to embed are sent.
    pub embedding_inputs: bool,
}

/// Checks a request. `may_see` refuses a workspace that is out of the caller's reach, before any other field is checked.
pub fn plan_request<E: From<Vec<Violation>>>(
    raw: proto::PlanHistoryRequest,
    limits: &Limits,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
) -> Result<PlanRequest, E> {
    let mut violations = Violations::default();
    let workspace = workspace(&raw.workspace_id, may_see, &mut violations)?;
    let mut profile =
        |name: &str, default, field| id(if name.is_empty() { default } else { name }, field, &mut violations);
    let segment_profile = profile(&raw.segment_profile, SEGMENT_PROFILE, "segment_profile");
    let rollup_profile = profile(&raw.rollup_profile, ROLLUP_PROFILE, "rollup_profile");
    let thresholds = thresholds(&raw.thresholds.unwrap_or_default(), &mut violations);
    let count = raw.messages.len();
    if raw.first_index.checked_add(count as u64).is_none() {
        violations.add("first_index", format!("leaves no indices for {count} messages"));
    }
    let history = History {
        first_index: raw.first_index,
        messages: messages(raw.messages, limits, &mut violations),
        segments: segments(raw.segments, limits, &mut violations),
    };
    violations.into_result(())?;
    let (Some(workspace), Some(segment_profile), Some(rollup_profile)) = (workspace, segment_profile, rollup_profile)
    else {
        return Err(Vec::new().into());
    };
    let embedding_inputs = raw.embedding_inputs;
    Ok(PlanRequest { workspace, history, thresholds, segment_profile, rollup_profile, embedding_inputs })
}

fn messages(raw: Vec<proto::HistoryMessage>, limits: &Limits, violations: &mut Violations) -> Vec<HistoryMessage> {
    if !violations.within("messages", raw.len(), count(MAX_MESSAGES)) {
        return Vec::new();
    }
    let dimensions = raw.first().map_or(0, |first| first.embedding.len());
    let checked = |(index, raw): (usize, proto::HistoryMessage)| {
        let path = |field: &str| format!("messages[{index}].{field}");
        let role = role(raw.role, || path("role"), violations);
        let tool_calls = tool_calls(raw.tool_calls, || path("tool_calls"), limits, violations);
        embedding(&raw.embedding, dimensions, || path("embedding"), violations);
        let time = timestamp(raw.time, || path("time"), violations);
        Some(HistoryMessage {
            role: role?,
            content: raw.content,
            tool_calls,
            time,
            tokens: raw.tokens,
            embedding: raw.embedding,
        })
    };
    raw.into_iter().enumerate().filter_map(checked).collect()
}

fn embedding(vector: &[f32], dimensions: usize, path: impl Fn() -> String, violations: &mut Violations) {
    if vector.len() > MAX_DIMENSIONS {
        violations.within(&path(), vector.len(), MAX_DIMENSIONS);
    } else if vector.len() != dimensions {
        let given = vector.len();
        violations
            .add(path(), format!("has {given} numbers, that of messages[0] has {dimensions}; all must have as many"));
    } else if let Some(at) = vector.iter().position(|number| !number.is_finite()) {
        violations.add(format!("{}[{at}]", path()), "must be a finite number");
    }
}

fn segments(raw: Vec<proto::HistorySegment>, limits: &Limits, violations: &mut Violations) -> Vec<HistorySegment> {
    if !violations.within("segments", raw.len(), limits.max_segments) {
        return Vec::new();
    }
    let mut ids = HashSet::with_capacity(raw.len());
    for (index, segment) in raw.iter().enumerate() {
        let path = |field: &str| format!("segments[{index}].{field}");
        if segment.id.is_empty() {
            violations.add(path("id"), "must not be empty");
        } else if !ids.insert(segment.id.as_str()) {
            violations.add(path("id"), "is the id of an earlier segment too");
        }
        if segment.message_end <= segment.message_start {
            violations.add(path("message_end"), format!("must be after message_start, {}", segment.message_start));
        }
    }
    raw.into_iter().enumerate().map(|(index, raw)| segment(raw, index, violations)).collect()
}

fn segment(raw: proto::HistorySegment, index: usize, violations: &mut Violations) -> HistorySegment {
    let mut time = |raw, field| timestamp(raw, || format!("segments[{index}].{field}"), violations);
    HistorySegment {
        start_time: time(raw.start_time, "start_time"),
        end_time: time(raw.end_time, "end_time"),
        id: raw.id,
        parent_id: raw.parent_id,
        level: raw.level,
        message_start: raw.message_start,
        message_end: raw.message_end,
        tokens: raw.tokens,
        is_summarised: raw.summarised,
    }
}

fn thresholds(raw: &proto::HistoryThresholds, violations: &mut Violations) -> Thresholds {
    let kern = Thresholds::default();
    let mut numbers = Numbers { violations };
    // Reads a field by its name, which a violation has too.
    macro_rules! count {
        ($field:ident, $range:expr) => {
            numbers.count(stringify!($field), raw.$field, $range, kern.$field)
        };
    }
    macro_rules! number {
        ($field:ident, $range:expr) => {
            numbers.given(stringify!($field), raw.$field, $range, kern.$field)
        };
    }
    let made = Thresholds {
        min_messages: count!(min_messages, 1..=MAX_MESSAGES),
        min_new_messages: count!(min_new_messages, 1..=MAX_MESSAGES),
        min_new_tokens: raw.min_new_tokens.unwrap_or(kern.min_new_tokens),
        chunk_messages: count!(chunk_messages, 1..=MAX_MESSAGES),
        window_messages: count!(window_messages, 1..=MAX_WINDOW),
        max_message_units: count!(max_message_units, 1..=MAX_UNITS),
        max_tool_units: count!(max_tool_units, 1..=MAX_UNITS),
        max_parts_units: count!(max_parts_units, 1..=MAX_UNITS),
        max_embedding_units: count!(max_embedding_units, 1..=MAX_UNITS),
        topic_distance: number!(topic_distance, 0.0..=MAX_DISTANCE),
        target_tokens: number!(target_tokens, 1..=u64::MAX),
        recount_carried: raw.recount_carried.unwrap_or(kern.recount_carried),
        user_bounds: raw.user_bounds.unwrap_or(kern.user_bounds),
        min_segment_tokens: raw.min_segment_tokens.unwrap_or(kern.min_segment_tokens),
        min_segment_messages: count!(min_segment_messages, 0..=MAX_MESSAGES),
        merge_distance: number!(merge_distance, 0.0..=MAX_DISTANCE),
        summary_divisor: number!(summary_divisor, 1..=u32::MAX),
        min_summary_tokens: number!(min_summary_tokens, 1..=MAX_TOKENS),
        max_summary_tokens: number!(max_summary_tokens, 1..=MAX_TOKENS),
        rollup_size: count!(rollup_size, 2..=MAX_ROLLUP),
        rollup_tokens: number!(rollup_tokens, 1..=MAX_TOKENS),
    };
    numbers.in_order("max_summary_tokens", &made.max_summary_tokens, "min_summary_tokens", &made.min_summary_tokens);
    numbers.in_order("chunk_messages", &made.chunk_messages, "min_messages", &made.min_messages);
    made
}

/// Reads numbers of the thresholds.
struct Numbers<'v> {
    violations: &'v mut Violations,
}

impl Numbers<'_> {
    fn given<T>(&mut self, field: &str, given: Option<T>, range: RangeInclusive<T>, default: T) -> T
    where
        T: PartialOrd + fmt::Display + Copy,
    {
        let Some(number) = given else { return default };
        if !range.contains(&number) {
            let (least, most) = (range.start(), range.end());
            self.violations.add(format!("thresholds.{field}"), format!("must be from {least} to {most}, is {number}"));
        }
        number
    }

    fn count(&mut self, field: &str, given: Option<u32>, range: RangeInclusive<u32>, default: usize) -> usize {
        given.map_or(default, |number| count(self.given(field, Some(number), range, number)))
    }

    fn in_order<T: PartialOrd + fmt::Display>(&mut self, field: &str, more: &T, than: &str, less: &T) {
        if more < less {
            self.violations.add(format!("thresholds.{field}"), format!("is {more}; must be at least {than}, {less}"));
        }
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(embedding: &[f32]) -> proto::HistoryMessage {
        proto::HistoryMessage { role: 2, embedding: embedding.to_vec(), ..Default::default() }
    }

    fn segment(id: &str, message_start: u64, message_end: u64) -> proto::HistorySegment {
        proto::HistorySegment { id: id.into(), message_start, message_end, ..Default::default() }
    }

    fn checked(raw: proto::PlanHistoryRequest) -> Result<PlanRequest, Vec<Violation>> {
        plan_request(proto::PlanHistoryRequest { workspace_id: "a".into(), ..raw }, &Limits::default(), |_| Ok(()))
    }

    fn faults(raw: proto::PlanHistoryRequest) -> Vec<String> {
        checked(raw).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_empty_request_has_kerns_numbers() {
        let request = checked(proto::PlanHistoryRequest::default()).unwrap();
        assert_eq!(request.thresholds, Thresholds::default());
        assert_eq!(
            (request.segment_profile.as_str(), request.rollup_profile.as_str()),
            (SEGMENT_PROFILE, ROLLUP_PROFILE)
        );
    }

    #[test]
    fn every_fault_is_reported_with_its_field() {
        let raw = proto::PlanHistoryRequest {
            segment_profile: "-".into(),
            first_index: u64::MAX,
            messages: vec![
                message(&[1.0, 0.0]),
                message(&[1.0]),
                message(&[0.0, f32::NAN]),
                message(&vec![0.0; 4_097]),
                proto::HistoryMessage {
                    time: Some(prost_types::Timestamp { seconds: 0, nanos: -1 }),
                    tool_calls: vec![proto::ToolCall::default(); 1_001],
                    embedding: vec![f32::INFINITY, 0.0],
                    ..Default::default()
                },
            ],
            segments: vec![segment("", 0, 1), segment("s", 5, 5), segment("s", 5, 9)],
            thresholds: Some(proto::HistoryThresholds {
                min_messages: Some(0),
                chunk_messages: Some(501),
                topic_distance: Some(f32::NAN),
                merge_distance: Some(-0.1),
                target_tokens: Some(0),
                rollup_size: Some(1),
                min_summary_tokens: Some(2_000),
                ..Default::default()
            }),
            ..Default::default()
        };
        let found = faults(raw);
        let fields: Vec<_> = found.iter().map(|fault| fault.split(':').next().unwrap()).collect();
        assert_eq!(
            fields,
            [
                "segment_profile",
                "thresholds.min_messages",
                "thresholds.chunk_messages",
                "thresholds.topic_distance",
                "thresholds.target_tokens",
                "thresholds.merge_distance",
                "thresholds.rollup_size",
                "thresholds.max_summary_tokens",
                "first_index",
                "messages[1].embedding",
                "messages[2].embedding[1]",
                "messages[3].embedding",
                "messages[4].role",
                "messages[4].tool_calls",
                "messages[4].embedding[0]",
                "messages[4].time",
                "segments[0].id",
                "segments[1].message_end",
                "segments[2].id",
            ]
        );
        assert_eq!(found[3], "thresholds.topic_distance: must be from 0 to 2, is NaN");
        assert_eq!(found[9], "messages[1].embedding: has 1 numbers, that of messages[0] has 2; all must have as many");
    }

    #[test]
    fn lists_are_bounded() {
        let many = |messages, segments| proto::PlanHistoryRequest {
            messages: vec![message(&[]); messages],
            segments: (0..segments).map(|index| segment(&index.to_string(), 0, 1)).collect(),
            ..Default::default()
        };
        assert!(checked(many(500, 10_000)).is_ok());
        let bounds = [
            "messages: has 501 items; at most 500 are allowed",
            "segments: has 10001 items; at most 10000 are allowed",
        ];
        assert_eq!(faults(many(501, 10_001)), bounds);
    }
}
