//! Plain text.

use super::BLANK_LINE;
use crate::{
    prompt::{Message, Prompt},
    turn::Role,
};

/// All system messages, joined by a blank line. A prompt without one, such as a heartbeat that is a user message,
/// gives the profile's own messages instead; those of the conversation are never included.
pub(super) fn render(prompt: &Prompt<'_>) -> String {
    let texts: Vec<&str> = messages(prompt).map(|(_, message)| message.content.as_ref()).collect();
    texts.join(BLANK_LINE)
}

/// The messages that are in it, with their indices.
pub fn messages<'p>(prompt: &'p Prompt<'_>) -> impl Iterator<Item = (u32, &'p Message<'p>)> {
    let has_system = prompt.messages.iter().any(|message| message.role == Role::System);
    let own = move |message: &Message<'_>| {
        if has_system { message.role == Role::System } else { message.origin.is_none() }
    };
    (0..).zip(&prompt.messages).filter(move |(_, message)| own(message))
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};

    #[test]
    fn system_messages_alone() {
        sample::with_prompt(|prompt| assert_eq!(render(prompt), "SKELETON\n\nFACTS\n\nCONTEXT\n\nEPHEMERAL"));
    }

    #[test]
    fn a_prompt_without_system_messages_gives_its_own() {
        let own = sample::message(Role::User, "[HEARTBEAT]\n");
        assert_eq!(render(&sample::prompt(vec![own])), "[HEARTBEAT]\n");
        assert_eq!(render(&sample::prompt(Vec::new())), "");
    }
}
