//! Math: converts equations of Office to TeX.
//!
//! In: the elements of `m:oMath` as they open and close. Out: text such as `x=\frac{-b}{2a}`, as people write it in
//! Markdown notes, so that a formula is found the same way in both.
//! Invariant: every element writes a bounded text at its beginning and end, in one pass.

use super::xml::Tag;

/// Deepest nesting that is written.
const MAX_NESTING: usize = 100;

/// An open element of an equation, which determines what is written at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MathFrame {
    /// Writes nothing of its own.
    Plain,
    /// The same, with an entry of its own among the open elements.
    Group,
    /// Text of a run.
    Text,
    /// Closes a brace.
    Braced,
    /// Closes the degree of a root.
    Degree,
    /// The name of a function: a space follows.
    Name,
    /// Delimiters, which end with the sign given in the properties.
    Delimited,
    /// A large operator, whose sign is written once it is known.
    Operator,
    /// An accent, bar or other mark over what follows.
    Accent,
    /// A matrix, or equations on several lines.
    Rows,
    /// A root.
    Root,
}

/// An open element with properties: what to write before, after and between its parts.
#[derive(Clone, Debug)]
struct OpenMath {
    frame: MathFrame,
    first: String,
    last: String,
    between: String,
    n_parts: u32,
    is_written: bool,
}

/// Writes one equation.
#[derive(Default)]
pub(super) struct Math {
    open: Vec<OpenMath>,
}

impl Math {
    /// Opens an element; `None` when its content is not shown.
    pub(super) fn open(&mut self, tag: &Tag<'_>, out: &mut String) -> Option<MathFrame> {
        let local = tag.local();
        if self.open.len() > MAX_NESTING {
            return None;
        }
        Some(match local {
            "t" => MathFrame::Text,
            "f" => {
                out.push_str("\\frac");
                MathFrame::Plain
            }
            "num" | "den" => brace(out),
            "sup" | "lim" if self.is_above(local) => {
                self.write_operator(out);
                out.push('^');
                brace(out)
            }
            "sub" | "lim" => {
                self.write_operator(out);
                out.push('_');
                brace(out)
            }
            "limUpp" => self.begin(MathFrame::Group, "upper", "", ""),
            "limLow" => self.begin(MathFrame::Group, "lower", "", ""),
            "rad" => {
                out.push_str("\\sqrt");
                self.begin(MathFrame::Root, "", "", "")
            }
            "deg" => {
                out.push('[');
                MathFrame::Degree
            }
            "d" => self.begin(MathFrame::Delimited, "(", ")", "|"),
            "nary" => self.begin(MathFrame::Operator, "\\int", "", ""),
            "acc" => self.begin(MathFrame::Accent, "\\hat", "", ""),
            "bar" => self.begin(MathFrame::Accent, "\\overline", "", ""),
            "groupChr" => self.begin(MathFrame::Accent, "\\underbrace", "", ""),
            "m" | "eqArr" => self.begin(MathFrame::Rows, "", "", ""),
            "func" | "box" | "borderBox" | "phant" | "sPre" | "sSub" | "sSup" | "sSubSup" => {
                self.begin(MathFrame::Group, "", "", "")
            }
            "fName" => MathFrame::Name,
            "mr" => {
                self.part(out, " \\\\ ");
                self.begin(MathFrame::Rows, "cells", "", "")
            }
            "e" => self.element(out),
            "r" | "oMath" | "oMathPara" => MathFrame::Plain,
            _ if local.ends_with("Pr") => {
                return matches!(local, "dPr" | "naryPr" | "accPr" | "groupChrPr")
                    .then_some(MathFrame::Plain);
            }
            _ => {
                self.property(tag);
                return None;
            }
        })
    }

    /// Closes the innermost element.
    pub(super) fn close(&mut self, frame: MathFrame, out: &mut String) {
        match frame {
            MathFrame::Braced => out.push('}'),
            // An empty degree: a square root.
            MathFrame::Degree if out.ends_with('[') => {
                out.pop();
            }
            MathFrame::Degree => out.push(']'),
            MathFrame::Name => out.push(' '),
            _ => {}
        }
        // Frames without an entry in `open` must not remove the one of an outer element.
        if self.open.last().is_some_and(|open| open.frame == frame && !is_inner(frame))
            && let Some(open) = self.open.pop()
            && frame == MathFrame::Delimited
        {
            // Delimiters without any part still have their opening sign.
            if open.n_parts == 0 {
                out.push_str(&open.first);
            }
            out.push_str(&open.last);
        }
    }

    /// Ends the equation, whatever is open.
    pub(super) fn end(&mut self) {
        self.open.clear();
    }

    fn begin(&mut self, frame: MathFrame, first: &str, last: &str, between: &str) -> MathFrame {
        let [first, last, between] = [first, last, between].map(String::from);
        self.open.push(OpenMath { frame, first, last, between, n_parts: 0, is_written: false });
        frame
    }

    /// Begins the content of a delimiter, root, operator or row.
    fn element(&mut self, out: &mut String) -> MathFrame {
        let Some(open) = self.open.last_mut() else { return MathFrame::Plain };
        match open.frame {
            MathFrame::Delimited => {
                let text = if open.n_parts == 0 { &open.first } else { &open.between };
                out.push_str(text);
                open.n_parts += 1;
            }
            MathFrame::Root => return brace(out),
            MathFrame::Accent => {
                out.push_str(&open.first);
                return brace(out);
            }
            MathFrame::Operator => {
                self.write_operator(out);
                out.push(' ');
            }
            MathFrame::Rows => {
                let between = if open.first == "cells" { " & " } else { " \\\\ " };
                self.part(out, between);
            }
            _ => {}
        }
        MathFrame::Plain
    }

    fn part(&mut self, out: &mut String, between: &str) {
        if let Some(open) = self.open.last_mut() {
            if open.n_parts > 0 {
                out.push_str(between);
            }
            open.n_parts += 1;
        }
    }

    /// Writes an operator's sign, if it is not written yet: before its limits or its content.
    fn write_operator(&mut self, out: &mut String) {
        if let Some(open) = self.open.last_mut()
            && open.frame == MathFrame::Operator
            && !open.is_written
        {
            open.is_written = true;
            out.push_str(&open.first);
        }
    }

    fn is_above(&self, local: &str) -> bool {
        local == "sup" || self.open.last().is_some_and(|open| open.first == "upper")
    }

    fn property(&mut self, tag: &Tag<'_>) {
        let Some(open) = self.open.last_mut() else { return };
        let Some(value) = tag.attr("val").filter(|value| value.chars().count() <= 1) else {
            return;
        };
        match (tag.local(), open.frame) {
            ("begChr", MathFrame::Delimited) => open.first = value.into_owned(),
            ("endChr", MathFrame::Delimited) => open.last = value.into_owned(),
            ("sepChr", MathFrame::Delimited) => open.between = value.into_owned(),
            ("chr", MathFrame::Operator) => open.first = operator(&value),
            ("chr", MathFrame::Accent) => open.first = accent(&value),
            _ => {}
        }
    }
}

/// True for frames without an entry of their own in `Math::open`.
fn is_inner(frame: MathFrame) -> bool {
    matches!(
        frame,
        MathFrame::Plain
            | MathFrame::Text
            | MathFrame::Braced
            | MathFrame::Degree
            | MathFrame::Name
    )
}

fn brace(out: &mut String) -> MathFrame {
    out.push('{');
    MathFrame::Braced
}

fn operator(sign: &str) -> String {
    let name = match sign {
        "∑" => "\\sum",
        "∏" => "\\prod",
        "∐" => "\\coprod",
        "∫" => "\\int",
        "∬" => "\\iint",
        "∮" => "\\oint",
        "⋃" => "\\bigcup",
        "⋂" => "\\bigcap",
        other => other,
    };
    name.to_string()
}

fn accent(sign: &str) -> String {
    let name = match sign {
        "\u{303}" | "~" => "\\tilde",
        "\u{304}" | "\u{305}" | "¯" => "\\bar",
        "\u{307}" => "\\dot",
        "\u{308}" => "\\ddot",
        "\u{20d7}" | "→" => "\\vec",
        "⏞" => "\\overbrace",
        "⏟" => "\\underbrace",
        _ => "\\hat",
    };
    name.to_string()
}
