//! Fields: instructions such as `HYPERLINK "https://…"` between marks, and their results.
//!
//! Invariant: instructions are never text; a field without an end hides nothing after its paragraph.

use crate::target::Target;

/// Deepest nesting of fields that is tracked.
const MAX_FIELDS: usize = 32;
/// Longest instruction, in bytes.
const MAX_INSTRUCTION_BYTES: usize = 4_000;

/// The fields that are open.
#[derive(Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    /// Number of open fields below the deepest that is tracked.
    n_deeper: usize,
}

#[derive(Default)]
struct Field {
    instruction: String,
    is_result: bool,
    is_link: bool,
}

/// What a field mark begins or ends in the text.
pub(super) enum FieldStep {
    Nothing,
    BeginLink(Option<Target>),
    EndLink,
}

impl Fields {
    /// Appends text to the current instruction.
    pub(super) fn instruct(&mut self, text: &str) {
        if let Some(field) = self.open.last_mut().filter(|field| !field.is_result)
            && field.instruction.len() + text.len() <= MAX_INSTRUCTION_BYTES
        {
            field.instruction.push_str(text);
        }
    }

    /// Handles a mark: `begin`, `separate` or `end`.
    pub(super) fn mark(&mut self, kind: &str) -> FieldStep {
        match kind {
            "begin" if self.open.len() >= MAX_FIELDS => self.n_deeper += 1,
            "begin" => self.open.push(Field::default()),
            _ if self.n_deeper > 0 => self.n_deeper -= usize::from(kind == "end"),
            "separate" => {
                if let Some(field) = self.open.last_mut().filter(|field| !field.is_result) {
                    field.is_result = true;
                    field.is_link = Self::is_link(&field.instruction);
                    if field.is_link {
                        return FieldStep::BeginLink(Self::target(&field.instruction));
                    }
                }
            }
            "end" if self.open.pop().is_some_and(|field| field.is_link) => {
                return FieldStep::EndLink;
            }
            _ => {}
        }
        FieldStep::Nothing
    }

    /// True while text belongs to an instruction.
    pub(super) fn is_instruction(&self) -> bool {
        self.open.iter().any(|field| !field.is_result)
    }

    /// Ends a paragraph: instructions that are still open are taken as complete.
    pub(super) fn end_paragraph(&mut self) {
        for field in &mut self.open {
            field.is_result = true;
        }
    }

    fn is_link(instruction: &str) -> bool {
        let word = instruction.split_ascii_whitespace().next().unwrap_or("");
        word.eq_ignore_ascii_case("HYPERLINK")
    }

    /// Returns the target of a `HYPERLINK`.
    pub(super) fn target(instruction: &str) -> Option<Target> {
        if !Self::is_link(instruction) {
            return None;
        }
        let (address, rest) = argument(instruction.trim_start().get("HYPERLINK".len()..)?)?;
        // `\l` is followed by a bookmark in the target.
        let place = rest.split_once("\\l").and_then(|(_, place)| argument(place));
        match place {
            Some((place, _)) if !address.contains('#') => {
                link_target(&format!("{address}#{place}"))
            }
            _ => link_target(address),
        }
    }
}

/// Returns the argument at the start of a text, and the rest; `None` before a switch.
fn argument(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"'),
        None if text.starts_with('\\') || text.is_empty() => None,
        None => Some(text.split_once(' ').unwrap_or((text, ""))),
    }
}

/// Returns the target of an address, unless it is personal (mail, telephone).
pub(super) fn link_target(address: &str) -> Option<Target> {
    let scheme = address.trim_start().split(':').next().unwrap_or("");
    let is_personal = ["mailto", "tel", "sms"].iter().any(|kind| scheme.eq_ignore_ascii_case(kind));
    // Without a scheme it is a path, which Word writes with backslashes.
    let address = if scheme == address { address.replace('\\', "/") } else { address.to_string() };
    if is_personal { None } else { Target::of_address(&address) }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn hyperlinks_are_read_from_instructions() {
        let rows = [
            (r#" HYPERLINK "https://x.org/a b" "#, Some("https://x.org/a b")),
            (r#"HYPERLINK https://x.org \o "tip""#, Some("https://x.org")),
            (r#"HYPERLINK "..\plans\q3.docx" \l "part""#, Some("../plans/q3.docx")),
            (r#"HYPERLINK \l "_Toc1""#, None),
            (r#"HYPERLINK "mailto:a@b.org""#, None),
            ("PAGE", None),
            ("", None),
        ];
        for (instruction, expected) in rows {
            let target = Fields::target(instruction);
            assert_eq!(target.as_ref().map(|t| t.name.as_str()), expected, "{instruction}");
        }
    }
}
