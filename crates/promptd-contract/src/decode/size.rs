//! The number of values of a request, counted in its bytes before anything is built from them: a value of two bytes becomes
//! hundreds when it is decoded.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost_reflect::{Kind, MessageDescriptor};

use super::Violation;
use crate::json::descriptors;

/// How deep messages are searched: prost decodes no deeper.
const MAX_DEPTH: usize = 100;

/// Counts the items of all lists and maps of a request, those of free-form values included. The error, above `max`, names
/// the field whose items are too many. Bytes that cannot be decoded are counted as far as they can be.
pub fn count_values(method: &str, request: &[u8], max: usize) -> Result<usize, Violation> {
    let Some(&root) = REQUESTS.by_method.get(method) else { return Ok(0) };
    let mut counter = Counter { count: 0, max, path: Vec::new() };
    // Not an error of this check: decoding reports it.
    let over = counter.message(root, request, 0).is_err_and(|stop| stop == Stop::Over);
    if !over {
        return Ok(counter.count);
    }
    let names: Vec<&str> = counter.path.into_iter().rev().filter(|name| !name.is_empty()).collect();
    let field = names.join(".");
    Err(Violation { field, message: format!("the request has more than {max} values in its lists and objects") })
}

/// Why counting ended early.
#[derive(PartialEq)]
enum Stop {
    Over,
    Unreadable,
}

struct Counter {
    count: usize,
    max: usize,
    /// Where it ended, from the inside out; empty names are of free-form values, which have none in the descriptors.
    path: Vec<&'static str>,
}

impl Counter {
    fn message(&mut self, shape: usize, mut bytes: &[u8], depth: usize) -> Result<(), Stop> {
        let shape = &REQUESTS.shapes[shape];
        if depth > MAX_DEPTH {
            return Err(Stop::Unreadable);
        }
        while !bytes.is_empty() {
            let (number, wire) = decode_key(&mut bytes).map_err(|_| Stop::Unreadable)?;
            let content = content(number, wire, &mut bytes)?;
            let Some(field) = shape.get(&number) else { continue };
            let within = if field.repeated { self.add() } else { Ok(()) };
            let within =
                within.and_then(|()| field.message.map_or(Ok(()), |inner| self.message(inner, content, depth + 1)));
            within.inspect_err(|_| self.path.push(field.name))?;
        }
        Ok(())
    }

    fn add(&mut self) -> Result<(), Stop> {
        self.count += 1;
        if self.count > self.max { Err(Stop::Over) } else { Ok(()) }
    }
}

/// The content of a field that has a length; nothing of others.
fn content<'b>(number: u32, wire: WireType, bytes: &mut &'b [u8]) -> Result<&'b [u8], Stop> {
    if wire != WireType::LengthDelimited {
        let skipped = skip_field(wire, number, bytes, DecodeContext::default());
        return skipped.map(|()| &[][..]).map_err(|_| Stop::Unreadable);
    }
    let length = decode_varint(bytes).map_err(|_| Stop::Unreadable)?;
    let length = usize::try_from(length).map_err(|_| Stop::Unreadable)?;
    let (content, rest) = bytes.split_at_checked(length).ok_or(Stop::Unreadable)?;
    *bytes = rest;
    Ok(content)
}

/// What counting needs of the contract's descriptors.
#[derive(Default)]
struct Requests {
    /// By `promptd.v1.PromptService/AssemblePrompt` …: the request's index in `shapes`.
    by_method: HashMap<String, usize>,
    shapes: Vec<BTreeMap<u32, Field>>,
}

/// A field that is counted, or leads to others.
struct Field {
    /// Empty within free-form values.
    name: &'static str,
    repeated: bool,
    message: Option<usize>,
}

static REQUESTS: LazyLock<Requests> = LazyLock::new(|| {
    let mut requests = Requests::default();
    let mut known = HashMap::new();
    for service in descriptors().services() {
        for method in service.methods() {
            let path = format!("{}/{}", service.full_name(), method.name());
            let shape = requests.shape(&method.input(), &mut known);
            requests.by_method.insert(path, shape);
        }
    }
    requests
});

impl Requests {
    fn shape(&mut self, message: &MessageDescriptor, known: &mut HashMap<String, usize>) -> usize {
        if let Some(&index) = known.get(message.full_name()) {
            return index;
        }
        let index = self.shapes.len();
        known.insert(message.full_name().to_owned(), index);
        self.shapes.push(BTreeMap::new());
        let free_form = message.full_name().starts_with("google.protobuf.");
        for field in message.fields() {
            let message = match field.kind() {
                Kind::Message(inner) => Some(self.shape(&inner, known)),
                _ => None,
            };
            let repeated = field.is_list() || field.is_map();
            if repeated || message.is_some() {
                // The names are a few dozen, made once.
                let name = if free_form { "" } else { Box::leak(field.name().to_owned().into_boxed_str()) };
                self.shapes[index].insert(field.number(), Field { name, repeated, message });
            }
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::proto;

    const ASSEMBLE: &str = "promptd.v1.PromptService/AssemblePrompt";

    /// `{"list": [{}, {}, …]}`
    fn objects(count: usize) -> prost_types::Struct {
        let empty = prost_types::Value { kind: Some(prost_types::value::Kind::StructValue(<_>::default())) };
        let list = prost_types::ListValue { values: vec![empty; count] };
        let list = prost_types::Value { kind: Some(prost_types::value::Kind::ListValue(list)) };
        prost_types::Struct { fields: [("list".to_owned(), list)].into() }
    }

    fn request(turn: proto::Turn) -> Vec<u8> {
        proto::AssemblePromptRequest { turn: Some(turn), ..Default::default() }.encode_to_vec()
    }

    #[test]
    fn items_of_lists_and_objects_are_counted_at_any_depth() {
        let call = proto::ToolCall::default();
        let message = proto::ConversationMessage { role: 2, tool_calls: vec![call; 3], ..Default::default() };
        let turn = proto::Turn {
            variables: Some(objects(4)),
            knowledge: vec![proto::KnowledgeSnippet { content: "x".into(), ..Default::default() }; 2],
            context_files: vec!["AGENTS.md".into(); 5],
            conversation: Some(proto::Conversation { messages: vec![message; 2], ..Default::default() }),
            ..Default::default()
        };
        // The object's entry and its 4 items, 2 snippets, 5 files, 2 messages of 3 calls.
        assert_eq!(count_values(ASSEMBLE, &request(turn), 100).unwrap(), 1 + 4 + 2 + 5 + 2 * (1 + 3));
    }

    #[test]
    fn a_request_over_the_bound_is_refused_with_its_field() {
        let over = [
            (proto::Turn { inputs: Some(objects(100)), ..Default::default() }, "turn.inputs"),
            (
                proto::Turn { knowledge: vec![proto::KnowledgeSnippet::default(); 101], ..Default::default() },
                "turn.knowledge",
            ),
        ];
        for (turn, field) in over {
            let request = request(turn);
            let refused = count_values(ASSEMBLE, &request, 100).unwrap_err();
            assert_eq!((refused.field.as_str(), refused.message.contains("100 values")), (field, true));
            assert_eq!(count_values(ASSEMBLE, &request, 101).unwrap(), 101);
        }
        let globs = proto::NameGlobs { globs: vec!["*".into(); 3] };
        let filter = Some(proto::SkillFilter { allowlist: None, blocklist: Some(globs) });
        let list = proto::ListSkillsRequest { skill_filter: filter, ..Default::default() }.encode_to_vec();
        let refused = count_values("promptd.v1.WorkspaceService/ListSkills", &list, 2).unwrap_err();
        assert_eq!(refused.field, "skill_filter.blocklist.globs");
    }

    #[test]
    fn bytes_that_are_no_request_are_left_to_the_decoder() {
        for bytes in [&b"\xff\xff\xff"[..], b"\x12\xff\x01", b"\x0b\x0c", &[0x12; 5_000]] {
            count_values(ASSEMBLE, bytes, 10).unwrap();
        }
        // An unknown group is skipped, as by the decoder: what follows is counted.
        let group =
            [&b"\x7b\x08\x01\x7c"[..], &request(proto::Turn { knowledge: vec![<_>::default()], ..<_>::default() })]
                .concat();
        assert_eq!(count_values(ASSEMBLE, &group, 10), Ok(1));
        assert!(proto::AssemblePromptRequest::decode(&*group).is_ok());
        assert_eq!(count_values("other", b"\x12\x00", 0), Ok(0));
    }

    #[test]
    fn deep_requests_are_counted_as_deep_as_they_are_decoded() {
        let field = |tag: u32, content: &[u8]| {
            let mut bytes = Vec::new();
            prost::encoding::encode_key(tag, WireType::LengthDelimited, &mut bytes);
            prost::encoding::encode_varint(content.len() as u64, &mut bytes);
            [&bytes, content].concat()
        };
        // A list in a list in a list …
        let value = (0..1_000).fold(Vec::new(), |value, _| field(6, &field(1, &value)));
        let entry = [field(1, b"k"), field(2, &value)].concat();
        let bytes = field(2, &field(17, &field(1, &entry)));
        let count = count_values(ASSEMBLE, &bytes, 100_000).unwrap();
        assert!((10..=MAX_DEPTH).contains(&count), "{count}");
        assert!(proto::AssemblePromptRequest::decode(&*bytes).is_err());
    }
}
