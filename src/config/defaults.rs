//! The defaults of [`TABLE`], and a config file laid over them.

use promptd_core::yaml::{Mark, Node, Pair, Value, parse};

use super::TABLE;

/// A file's root node with the default of every setting that it does not set. Keys without a default are kept: the
/// decoder reports them.
pub(super) fn over_defaults(given: &Node) -> Node {
    overlay(defaults(), given)
}

fn overlay(under: Node, over: &Node) -> Node {
    if over.is_null() {
        return under;
    }
    let (Value::Map(defaults), Value::Map(given)) = (&under.value, &over.value) else { return over.clone() };
    let mut pairs = given.clone();
    for default in defaults {
        match pairs.iter_mut().find(|pair| pair.key == default.key) {
            Some(pair) => pair.value = overlay(default.value.clone(), &pair.value),
            None => pairs.push(default.clone()),
        }
    }
    Node { at: over.at, value: Value::Map(pairs) }
}

/// The defaults as the root of a config file.
fn defaults() -> Node {
    let mut root = Node { at: START, value: Value::Map(Vec::new()) };
    for setting in TABLE {
        let value = parse(setting.default).unwrap_or_else(|_| Node { at: START, value: Value::List(Vec::new()) });
        insert(&mut root, setting.key, value);
    }
    root
}

const START: Mark = Mark { line: 1, column: 1 };

fn insert(node: &mut Node, path: &str, value: Node) {
    let Value::Map(pairs) = &mut node.value else { return };
    let Some((key, rest)) = path.split_once('.') else {
        return pairs.push(Pair { key: path.to_owned(), at: START, value });
    };
    let index = pairs.iter().position(|pair| pair.key == key).unwrap_or_else(|| {
        let value = Node { at: START, value: Value::Map(Vec::new()) };
        pairs.push(Pair { key: key.to_owned(), at: START, value });
        pairs.len() - 1
    });
    insert(&mut pairs[index].value, rest, value);
}
