//! From text to nodes, in bounded time and memory.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{Cut, Fault, Mark, Node, Pair, Scalar, Value, bounded, cause};
use crate::{
    finding::Code,
    text::{clamped, measure},
};

/// The largest YAML text that is parsed, in bytes.
pub const MAX_YAML_BYTES: usize = 1 << 20;
/// How deep values may nest.
pub const MAX_DEPTH: usize = 64;
/// How many values a text may have once its aliases are expanded.
pub const MAX_NODES: usize = 50_000;

/// Parses the one document of `text`; an empty text is a null. Faults: what cannot be parsed, duplicate keys. It ends at
/// the first fault of the syntax, where [`read`](super::read) goes on.
pub fn parse(text: &str) -> Result<Node, Vec<Fault>> {
    parse_once(text).map_err(|broken| bounded(broken.faults))
}

/// What a text with faults came to.
pub(super) struct Broken {
    /// The duplicate keys, and what ended the parsing.
    pub(super) faults: Vec<Fault>,
    /// All of the text, without the duplicates; `None` where the parsing ended before its end.
    pub(super) root: Option<Node>,
    /// The columns of the lists that were open where the parsing ended, outermost first.
    pub(super) lists: Vec<u32>,
}

pub(super) fn parse_once(text: &str) -> Result<Node, Broken> {
    if text.len() > MAX_YAML_BYTES {
        let message = format!("larger than the {MAX_YAML_BYTES} bytes that are read of YAML");
        let faults = vec![Fault { code: Code::FileTooLarge, at: START, message }];
        return Err(Broken { faults, root: None, lists: Vec::new() });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let step = event
            .map_err(|e| cause::of(&e, text, builder.read, builder.open.iter().map(|open| open.at)))
            .and_then(|(event, span)| builder.take(event, span));
        if let Err(fault) = step {
            let lists = builder.open.iter().filter(|open| matches!(open.items, Items::List(_)));
            let lists = lists.map(|open| open.at.column).collect();
            builder.faults.push(fault);
            return Err(Broken { faults: builder.faults, root: None, lists });
        }
    }
    let root = builder.root.unwrap_or_else(|| null(START));
    if builder.faults.is_empty() {
        Ok(root)
    } else {
        Err(Broken { faults: builder.faults, root: Some(root), lists: Vec::new() })
    }
}

/// The text of a YAML file; the fault has the place of the first byte that is not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count();
        let message = format!("not valid UTF-8 at byte {}: save the file as UTF-8", error.valid_up_to() + 1);
        syntax(position(line, column), &message)
    })
}

/// What the parser says of an alias whose anchor the text does not have.
pub(super) const UNKNOWN_ANCHOR: &str = "while parsing node, found unknown anchor";

const START: Mark = Mark { line: 1, column: 1 };

struct Builder<'t> {
    /// Of the text, with their ends.
    lines: Vec<&'t str>,
    /// The end of what was taken.
    read: Mark,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    /// Bytes of text that aliases expand to.
    aliased: usize,
    documents: usize,
    root: Option<Node>,
    faults: Vec<Fault>,
}

/// A list or map whose end has not come yet.
struct Open {
    at: Mark,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { pairs: Vec<Pair>, keys: BTreeSet<String>, key: Option<(String, Mark)> },
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            lines: text.split_inclusive('\n').collect(),
            read: START,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            aliased: 0,
            documents: 0,
            root: None,
            faults: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let at = mark(span);
        self.read = position(span.end.line(), span.end.col());
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(syntax(at, "a second document; only one is allowed"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = match tag.as_deref() {
                    None => style == ScalarStyle::Plain,
                    Some(tag) if tag.is_yaml_core_schema() => tag.suffix != "str" && style == ScalarStyle::Plain,
                    Some(tag) => {
                        return Err(syntax(at, &format!("the tag `{}{}` is not known", tag.handle, tag.suffix)));
                    }
                };
                let literal = style == ScalarStyle::Literal;
                let cut = if style == ScalarStyle::Plain && !text.is_empty() { self.cut(span, anchor) } else { None };
                let node = Node { at, value: Value::Scalar(Scalar { text: text.into_owned(), plain, literal, cut }) };
                return self.put(node, anchor);
            }
            Event::SequenceStart(anchor, _) => self.push(at, anchor, Items::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => {
                self.push(at, anchor, Items::Map { pairs: Vec::new(), keys: BTreeSet::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = match open.items {
                        Items::List(items) => Value::List(items),
                        Items::Map { pairs, .. } => Value::Map(pairs),
                    };
                    return self.put(Node { at: open.at, value }, open.anchor);
                }
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(syntax(at, "an alias inside its own anchor"));
                };
                // Before the copy is made: a few bytes of YAML could expand to gigabytes.
                let (nodes, bytes) = weigh(node);
                self.nodes += nodes;
                self.aliased += bytes;
                if self.nodes > MAX_NODES || self.aliased > MAX_YAML_BYTES {
                    let message =
                        format!("aliases expand to more than {MAX_NODES} values or {MAX_YAML_BYTES} bytes of text");
                    return Err(syntax(at, &message));
                }
                let node = node.clone();
                return self.put(node, 0);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    /// What was taken for something else beside the plain scalar of that span.
    fn cut(&self, span: Span, anchor: usize) -> Option<Cut> {
        if anchor != 0 {
            return Some(Cut::Anchor(mark(span)));
        }
        let end = span.end;
        let line = self.lines.get(end.line().checked_sub(1)?)?;
        let rest = &line[measure::offset(line, end.col())..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let column = end.col() + blank;
        (blank > 0 && rest[blank..].starts_with('#')).then(|| Cut::Comment(position(end.line(), column)))
    }

    fn push(&mut self, at: Mark, anchor: usize, items: Items) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(syntax(at, &format!("values nest deeper than {MAX_DEPTH} levels")));
        }
        self.open.push(Open { at, anchor, items });
        Ok(())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(syntax(node.at, &format!("more than {MAX_NODES} values, aliases expanded")));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.items {
            Items::List(items) => items.push(node),
            Items::Map { pairs, keys, key } => match key.take() {
                None => match node.value {
                    Value::Scalar(scalar) => *key = Some((scalar.text, node.at)),
                    _ => return Err(syntax(node.at, "a key must be text")),
                },
                Some((name, at)) if !keys.insert(name.clone()) => {
                    let message = format!("duplicate key `{name}`");
                    self.faults.push(Fault { code: Code::DuplicateKey, at, message });
                }
                Some((name, at)) => pairs.push(Pair { key: name, at, value: node }),
            },
        }
        Ok(())
    }
}

/// How many values a node has, itself included, and how many bytes of text.
fn weigh(node: &Node) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (more_nodes, more_bytes)| (nodes + more_nodes, bytes + more_bytes);
    match &node.value {
        Value::Scalar(scalar) => (1, scalar.text.len()),
        Value::List(items) => items.iter().map(weigh).fold((1, 0), add),
        Value::Map(pairs) => {
            pairs.iter().fold((1, 0), |sum, pair| add(add(sum, weigh(&pair.value)), (0, pair.key.len())))
        }
    }
}

fn null(at: Mark) -> Node {
    Node { at, value: Value::Scalar(Scalar { text: String::new(), plain: true, literal: false, cut: None }) }
}

fn mark(span: Span) -> Mark {
    position(span.start.line(), span.start.col())
}

/// The parser counts lines from 1 and columns from 0.
pub(super) fn position(line: usize, column: usize) -> Mark {
    Mark { line: clamped(line), column: clamped(column).saturating_add(1) }
}

pub(super) fn syntax(at: Mark, message: &str) -> Fault {
    Fault { code: Code::YamlSyntax, at, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn faults(text: &str) -> Vec<(u32, u32, String)> {
        parse(text).unwrap_err().into_iter().map(|f| (f.at.line, f.at.column, f.message)).collect()
    }

    #[test]
    fn remembers_where_things_stand() {
        let node = parse("a: 1\nb:\n  - x\n  - {y: [é, z]}\n").unwrap();
        let Value::Map(pairs) = &node.value else { panic!() };
        assert_eq!((pairs[1].at.line, pairs[1].at.column), (2, 1));
        let Value::List(items) = &pairs[1].value.value else { panic!() };
        assert_eq!((items[0].at.line, items[0].at.column), (3, 5));
        assert_eq!(node.to_json(), serde_json::json!({"a": 1, "b": ["x", {"y": ["é", "z"]}]}));
    }

    #[test]
    fn what_is_never_closed_is_reported_at_a_line_that_exists() {
        for text in ["a:\n  b: {x: 'y\n", "a:\n  b: {x: 'y\n\n\n", "a:\n  b: {x: 'y"] {
            assert_eq!((faults(text)[0].0, faults(text)[0].1), (2, 10), "{text:?}");
        }
    }

    #[test]
    fn a_bracket_that_is_not_closed_is_reported_where_it_opens() {
        for (text, line, column) in [
            ("a: [x\n", 1, 4),
            ("a: [x, y\nb: 1\n", 1, 4),
            ("a: {x: 1\nb: 1\n", 1, 4),
            ("a: [x\nb: y]\n", 1, 4),
            ("a:\n  b: [\n    x,\n    y\nc: 1\n", 2, 6),
            ("é: [x, {y: 1, z]\nb: 1\n", 1, 8),
            ("a: {b: [1, 2}\nc: 1\n", 1, 8),
            ("s:\n  - id: [a]\n    t: [x # ]\n  - id: b\n", 3, 8),
            ("a: [\"]\", 'it''s ]', don't\nb: [x]\n", 1, 4),
            ("{a: 1,\nb: [2\n}\n", 2, 4),
            ("a: |\n  [\nb: \"\\\"[\"\nc: x [\nd: {e\n", 5, 4),
        ] {
            let found = &faults(text)[0];
            assert_eq!((found.0, found.1), (line, column), "{text:?}: {found:?}");
            assert!(found.2.contains("no closing"), "{text:?}: {found:?}");
        }
    }

    #[test]
    fn a_fault_beside_closed_brackets_is_reported_where_it_is() {
        for (text, line, column) in [
            ("a: [x]]\nb: 1\n", 1, 7),
            ("a: [x, {y: 1}]\nb: @x\n", 2, 4),
            ("a: [x, @y]\nb: 1\n", 1, 8),
            ("a: b: [c]\nd: 1\n", 1, 5),
            ("a:\n  - x\n  y\n# why\nb: 1\n", 3, 3),
            ("a: 1\n\nb\n\nc: 2\n", 3, 1),
        ] {
            let found = &faults(text)[0];
            assert_eq!((found.0, found.1), (line, column), "{text:?}: {found:?}");
            assert!(!found.2.contains("no closing"), "{text:?}: {found:?}");
        }
    }

    #[test]
    fn every_duplicate_is_reported() {
        let found = faults("a: 1\na: 2\nb: {c: 1, c: 2}\n");
        assert_eq!(found.iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(), [(2, 1), (3, 11)]);
    }

    #[test]
    fn bombs_and_depth_end_in_bounded_time() {
        let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x,x]\n");
        for (from, to) in ('a'..'i').zip('b'..='i') {
            let aliases = vec![format!("*{from}"); 10].join(",");
            writeln!(bomb, "{to}: &{to} [{aliases}]").unwrap();
        }
        assert!(faults(&bomb)[0].2.contains("more than"));
        let heavy = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 40_000].join(","));
        assert!(faults(&heavy)[0].2.contains("more than"));
        assert!(faults(&"[".repeat(200))[0].2.contains("deeper"));
        assert!(!faults("a: &a [*a]").is_empty());
    }

    #[test]
    fn empty_text_is_null_and_a_byte_order_mark_is_nothing() {
        assert!(parse("").unwrap().is_null());
        assert!(parse("\u{feff}a: 1").is_ok());
    }

    #[test]
    fn what_yaml_takes_for_something_else_is_known() {
        let cut = |text: &str| {
            let node = parse(text).unwrap();
            let Value::Map(pairs) = &node.value else { panic!() };
            pairs[0].value.cut()
        };
        let at = |line, column| Mark { line, column };
        assert_eq!(cut("a: Converts C # sources, see issue #12\nb: c\n"), Some(Cut::Comment(at(1, 15))));
        assert_eq!(cut("a: é\n  b # c\n"), Some(Cut::Comment(at(2, 5))));
        assert!(matches!(cut("a: &fast path for uploads\n"), Some(Cut::Anchor(_))));
        for text in
            ["a: b#c", "a: 'C # sources' # why\n", "a: C# sources\n# why\n", "a: |\n  b # c\n", "a: # why\n", "a: b"]
        {
            assert_eq!(cut(text), None, "{text:?}");
        }
    }

    #[test]
    fn scalars_keep_their_text() {
        for (text, json) in [
            ("3000", serde_json::json!(3000)),
            ("yes", serde_json::json!("yes")),
            ("2026-01-01", serde_json::json!("2026-01-01")),
            ("'5'", serde_json::json!("5")),
            ("!!str 5", serde_json::json!("5")),
            ("1.5", serde_json::json!(1.5)),
            ("~", serde_json::Value::Null),
        ] {
            assert_eq!(parse(text).unwrap().to_json(), json, "{text}");
        }
    }
}
