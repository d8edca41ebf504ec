//! A config file laid over the defaults.

use promptd_core::yaml::{Node, Value};

/// `over` where it says something, else `under`. Keys that only `over` has are kept: the decoder reports them.
pub(super) fn overlay(under: Node, over: &Node) -> Node {
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
