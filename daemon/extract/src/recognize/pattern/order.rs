//! Order: the numbered lists that are procedures.
//!
//! In: the outline of a document. Out: the lists whose items follow each other in time.
//! Invariants: most items must begin like instructions, fewer if the words above announce an order;
//! a list is not a procedure if they announce only a choice; one pass over the blocks.

use rustc_hash::{FxHashMap, FxHashSet};

use model::document::{BlockKind, Document};

/// Verbs that begin instructions.
const INSTRUCTIONS: &str = "\
     access accept acknowledge activate adapt add adjust agree aim align allow alter analyze annotate answer \
     append apply approve archive arrange ask assemble assign attach authenticate back bake begin block boot \
     bring browse build bump call cancel capture carry change check choose clean clear click clone close \
     collect combine commit communicate compare compile complete compute configure confirm connect consider \
     consult contact continue convert cook copy count create cut declare decide define delete deploy describe \
     destroy determine disable disconnect discuss document download draft drag drain draw drive drop dump edit \
     email enable ensure enter escalate establish estimate evaluate examine execute exit expand export extract \
     fetch fill filter find finish fix flash flush follow force forward freeze generate get give go grab grant \
     group halt hand hold identify implement import include increase inform inject insert inspect install \
     invite invoke issue join keep kill label launch lay leave let link list listen load locate lock log look \
     lower make map mark match measure merge mix modify monitor mount move name navigate note notify obtain \
     open order pack pass paste patch pause perform pick pin place plan plug point post pour prepare press \
     print promote provide publish pull purge push put query quit raise read reboot rebuild receive record \
     recreate redeploy redirect reduce refactor refresh register release reload remove rename render repair \
     repeat replace replay reply report reproduce request require reset resolve respond restart restore resume \
     retrieve retry return revert review revoke roll rotate run save scale scan schedule scroll search seek \
     select send serve set share shut sign simplify skip snapshot solve sort specify spin split start state \
     stop store submit subscribe supply swap switch sync tag take tap tell terminate test tick toggle track \
     transfer trigger trim try tune turn type understand uninstall unlock unmount unpack unplug untar unzip \
     update upgrade upload use validate verify visit wait walk warm wash watch weigh wipe withdraw work wrap \
     write yield";
/// Words that may precede an instruction's verb.
const OPENERS: &str = "\
     first second third then next now finally lastly afterwards again optionally optional carefully please \
     once also and";
/// Words of a heading or lead that announce an order in time.
const ORDERS: &str =
    "step steps procedure procedures workflow walkthrough runbook instructions timeline";
/// Words of a lead that announce a choice.
const CHOICES: &str =
    "ability abilities can may ways options reasons examples exercises either any one tips ideas";

/// Bytes read of a heading, and of the end of a lead. Bounded, because many lists may follow one
/// long text.
const MAX_LEAD_BYTES: usize = 200;

/// What is known about a list.
struct Count {
    n_items: u32,
    /// Number of instructions among them.
    n_instructions: u32,
    /// Whether the words above announce an order.
    is_announced: bool,
    /// Whether they announce a choice and no order.
    is_choice: bool,
}

/// Returns the lists, each with its depth, whose items follow each other in time.
pub(crate) fn ordered_lists(doc: &Document) -> FxHashSet<(u32, u8)> {
    let mut counts: FxHashMap<(u32, u8), Count> = FxHashMap::default();
    let mut lead = "";
    for block in &doc.blocks {
        let text = block.span.of(&doc.text);
        let BlockKind::ListItem { list, depth, ordinal: Some(_) } = block.kind else {
            if matches!(block.kind, BlockKind::Paragraph | BlockKind::Heading(_)) {
                lead = text;
            }
            continue;
        };
        let heading = block.section.and_then(|idx| doc.blocks.get(idx as usize));
        let heading = heading.map_or(doc.title.as_str(), |it| it.span.of(&doc.text));
        let count = counts.entry((list, depth)).or_insert_with(|| {
            let last = lead.rsplit(['.', '\n']).find(|part| !part.trim().is_empty()).unwrap_or("");
            let last = last
                .get(last.ceil_char_boundary(last.len().saturating_sub(MAX_LEAD_BYTES))..)
                .unwrap_or("");
            let heading = heading.get(..heading.floor_char_boundary(MAX_LEAD_BYTES)).unwrap_or("");
            let is_announced = has_word(ORDERS, heading) || has_word(ORDERS, last);
            Count {
                n_items: 0,
                n_instructions: 0,
                is_announced,
                is_choice: has_word(CHOICES, last) && !is_announced,
            }
        });
        count.n_items += 1;
        count.n_instructions += u32::from(is_instruction(text));
    }
    // After an announced order a third of the items is enough, otherwise most must be instructions.
    let is_ordered = |(_, it): &(_, Count)| {
        let n_needed = if it.is_announced { it.n_items.div_ceil(3) } else { it.n_items / 2 + 1 };
        !it.is_choice && it.n_items > 1 && it.n_instructions >= n_needed
    };
    counts.into_iter().filter(is_ordered).map(|(key, _)| key).collect()
}

/// Returns whether the first word of a text, openers skipped, is an instruction's verb. A clause
/// before it may state a condition.
fn is_instruction(text: &str) -> bool {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.take(4).map(str::to_string).collect::<Vec<_>>()
    };
    let begins = |text: &str| {
        let words = words(text);
        let verb = words.iter().find(|word| !has_word(OPENERS, word));
        verb.is_some_and(|verb| has_word(INSTRUCTIONS, verb))
    };
    let adjunct = [
        "If ", "When ", "On ", "In ", "After ", "Before ", "Using ", "From ", "To ", "At ",
        "With ", "For ",
    ];
    let main = text.split_once(", ").filter(|_| adjunct.iter().any(|it| text.starts_with(it)));
    begins(main.map_or(text, |(_, main)| main))
}

/// Returns whether a word of the text is in a list separated by spaces.
fn has_word(list: &str, text: &str) -> bool {
    let listed = |word: &str| list.split_ascii_whitespace().any(|it| it.eq_ignore_ascii_case(word));
    text.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_empty() && listed(word))
}
