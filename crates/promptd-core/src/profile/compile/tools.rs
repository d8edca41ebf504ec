//! `tool_allowlist`: which of the tools that a turn brings the model may use.

use super::{
    super::{
        raw::RawToolAllowlist,
        spec::{Input, Stability, ToolAllowlist, takes_tools},
        types::Type,
    },
    Compiler,
};

impl Compiler<'_> {
    pub(super) fn tool_allowlist(&mut self, raw: &RawToolAllowlist) -> Option<ToolAllowlist> {
        if !takes_tools(&self.inputs) {
            let message = "`tool_allowlist` needs an input `tools`, a list of objects with a `name`";
            self.fault(&raw.at, message.to_owned());
        }
        let Some(by) = &raw.by else {
            let mut lists = raw.lists.iter().filter(|(value, _)| value.value.is_empty());
            let names = lists.next().map(|(_, names)| names.clone());
            if names.is_none() {
                self.fault(&raw.at, "`tool_allowlist` must be a list of names, or have `by` and `lists`".to_owned());
            }
            return names.map(ToolAllowlist::Names);
        };
        match self.inputs.iter().find(|input| input.field.name == by.value).map(|input| input.field.ty.clone()) {
            Some(Type::Text) => {}
            Some(Type::Choice(words)) => {
                for (value, _) in raw.lists.iter().filter(|(value, _)| !words.contains(&value.value)) {
                    self.fault(
                        value,
                        format!("`{}` is never `{}`: it is one of {}", by.value, value.value, words.join(", ")),
                    );
                }
            }
            Some(other) => self.fault(by, format!("the input `{}` is {}, not a string", by.value, other.describe())),
            None => self.fault(by, format!("`{}` is not an input", by.value)),
        }
        let lists = raw.lists.iter().map(|(value, names)| (value.value.clone(), names.clone())).collect();
        Some(ToolAllowlist::ByInput { input: by.value.clone(), lists })
    }
}

/// The tools that are shown follow from the input that selects the list too, and whether there are any from the tools: neither is
/// more stable than that.
pub(super) fn destabilise(inputs: &mut [Input], allowlist: Option<&RawToolAllowlist>) {
    let of = |inputs: &[Input], name: &str| {
        inputs.iter().find(|input| input.field.name == name).map_or(Stability::Stable, |input| input.stability)
    };
    if !takes_tools(inputs) {
        return;
    }
    let by = allowlist.and_then(|list| list.by.as_ref()).map_or(Stability::Stable, |by| of(inputs, &by.value));
    let tools = of(inputs, ToolAllowlist::INPUT).max(by);
    for input in inputs.iter_mut() {
        match input.field.name.as_str() {
            ToolAllowlist::INPUT => input.stability = tools,
            ToolAllowlist::ANY_INPUT => input.stability = input.stability.max(tools),
            _ => {}
        }
    }
}
