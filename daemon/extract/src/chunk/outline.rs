//! Outline: which blocks make a section, which sections stay together, and which headings apply to a chunk.
//!
//! In: the blocks of a document and their atoms. Out: groups of whole sections, units of blocks, headings.
//! Invariants: groups follow one another and cover the document; a group of several sections fits one chunk, except
//! that headings without text join whatever follows under the same parent.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Budget;
use super::atom::Atom;
use super::profile::Budgets;
use model::document::{Block, BlockKind, Document, Profile};

/// Headings have six levels; a longer chain of parents is an error in the outline and is cut here.
const MAX_DEPTH: usize = 6;

/// Longest names of columns that are kept with each row, in bytes.
const MAX_COLUMNS_BYTES: usize = 300;

/// A heading with the blocks up to the next heading, or the blocks before the first heading.
#[derive(Debug)]
struct Section {
    /// The block of its heading.
    heading: Option<usize>,
    /// Its atoms, those of the heading included.
    atoms: Range<usize>,
    n_tokens: usize,
    /// True when it holds more than its heading.
    has_body: bool,
    profile: Profile,
}

/// Whole sections whose chunks are filled together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SectionGroup {
    /// Their atoms.
    pub(super) atoms: Range<usize>,
    /// The profile of all that have a body.
    pub(super) profile: Profile,
}

/// Atoms that stay together if they fit: a block, the rows of a table, or an ordered list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Which atoms.
    pub(super) atoms: Range<usize>,
    /// Their tokens.
    pub(super) n_tokens: usize,
    /// Most tokens up to which it stays whole.
    pub(super) limit: usize,
    /// True for a heading.
    pub(super) is_heading: bool,
    /// True for a fact of a note with the items nested in it, a row of a sheet and a turn, which share their chunks
    /// with no other text.
    pub(super) is_alone: bool,
}

/// The structure of a document, in terms of its atoms.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    blocks: &'a [Block],
    atoms: &'a [Atom],
    /// For each atom, the tokens before it; one extra entry at the end holds the total.
    before: Vec<usize>,
    sections: Vec<Section>,
    /// For each ordered list, its last block.
    list_ends: FxHashMap<u32, usize>,
    /// For each table, the row that names its columns.
    table_heads: FxHashMap<u32, usize>,
    /// The blocks that are facts, and rows of sheets.
    facts: FxHashSet<usize>,
    /// Where turns of a dialogue begin.
    turns: &'a [usize],
}

impl<'a> Outline<'a> {
    /// Reads the structure from blocks and their atoms.
    pub(super) fn of(
        blocks: &'a [Block],
        profiles: &[Profile],
        atoms: &'a [Atom],
        facts: FxHashSet<usize>,
        turns: &'a [usize],
    ) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        let (mut list_ends, mut table_heads) = (FxHashMap::default(), FxHashMap::default());
        let mut before = vec![0];
        let mut n_tokens = 0;
        for (atom_idx, atom) in atoms.iter().enumerate() {
            n_tokens += atom.n_tokens;
            before.push(n_tokens);
            let kind = blocks.get(atom.block).map(|block| &block.kind);
            let is_heading = matches!(kind, Some(BlockKind::Heading(_)));
            if let Some(BlockKind::ListItem { list, ordinal: Some(_), .. }) = kind {
                list_ends.insert(*list, atom.block);
            }
            if let Some(BlockKind::TableRow { table, is_header: true }) = kind {
                table_heads.entry(*table).or_insert(atom.block);
            }
            let heading = is_heading.then_some(atom.block);
            // A long heading may be cut into several atoms of one block; only the first opens a section.
            let opens = sections.last().is_none_or(|last| is_heading && last.heading != heading);
            if opens {
                let atoms = atom_idx..atom_idx;
                let profile = profiles.get(atom.block).copied().unwrap_or(Profile::General);
                sections.push(Section { heading, atoms, n_tokens: 0, has_body: false, profile });
            }
            if let Some(section) = sections.last_mut() {
                section.atoms.end = atom_idx + 1;
                section.n_tokens += atom.n_tokens;
                section.has_body |= !is_heading;
            }
        }
        Outline { blocks, atoms, before, sections, list_ends, table_heads, facts, turns }
    }

    /// Returns the sections that are filled together: a small section is joined by the next ones of the same profile
    /// under the same parent while all of them fit one chunk.
    pub(super) fn groups(&self, budgets: &Budgets) -> Vec<SectionGroup> {
        let mut groups = Vec::new();
        let mut sections = self.sections.iter().peekable();
        while let Some(first) = sections.next() {
            let (mut end, mut n_tokens, mut has_body) =
                (first.atoms.end, first.n_tokens, first.has_body);
            let mut profile = first.profile;
            while let Some(next) = sections.next_if(|next| {
                // The budget can change while joining: headings alone have the profile of what follows them.
                let budget = budgets.of(profile);
                let fits = n_tokens < budget.min && n_tokens + next.n_tokens <= budget.max;
                let is_alike = profile == next.profile || !next.has_body;
                // Without a body the group is headings only, so the next section joins however large it is.
                (fits && is_alike || !has_body) && self.is_under_same_parent(first, next)
            }) {
                end = next.atoms.end;
                n_tokens += next.n_tokens;
                if !has_body {
                    profile = next.profile;
                }
                has_body |= next.has_body;
            }
            groups.push(SectionGroup { atoms: first.atoms.start..end, profile });
        }
        groups
    }

    /// True when the later section is a descendant of the earlier one's parent, at any depth.
    fn is_under_same_parent(&self, earlier: &Section, later: &Section) -> bool {
        let parent = earlier.heading.and_then(|heading| self.parent(heading));
        parent.is_none_or(|parent| {
            later.heading.is_some_and(|heading| self.path(heading).contains(&parent))
        })
    }

    /// Returns the heading above a heading. Ignores a parent that does not precede its child, so that chains end.
    fn parent(&self, heading: usize) -> Option<usize> {
        let parent = self.blocks.get(heading)?.section? as usize;
        (parent < heading).then_some(parent)
    }

    /// Returns a heading and its ancestors, outermost first.
    fn path(&self, heading: usize) -> Vec<usize> {
        let chain = std::iter::successors(Some(heading), |&heading| self.parent(heading));
        let mut path: Vec<usize> = chain.take(MAX_DEPTH).collect();
        path.reverse();
        path
    }

    /// Returns the units of a group of sections, in order.
    pub(super) fn units(&self, group: &Range<usize>, budget: &Budget) -> Vec<Unit> {
        let (mut units, mut tried) = (Vec::new(), FxHashSet::default());
        let mut at = group.start;
        while let Some(block_idx) =
            self.atoms.get(at).map(|atom| atom.block).filter(|_| at < group.end)
        {
            let place = at..group.end;
            if self.facts.contains(&block_idx) {
                let fact = self.unit(&place, self.after_nested(block_idx), budget.max);
                at = fact.atoms.end;
                units.push(Unit { is_alone: true, ..fact });
                continue;
            }
            if self.is_turn(at) {
                let is_own = |at: &usize| {
                    !self.is_turn(*at) && self.atom(*at).is_some_and(|it| !self.is_heading(it))
                };
                let end = at + 1 + (at + 1..group.end).take_while(is_own).count();
                units.push(Unit { is_alone: true, ..self.unit_of(at..end, budget.max) });
                at = end;
                continue;
            }
            // Each list is tried once, at its first item: a list that is too large would be measured again at every
            // item.
            let list = self.ordered_list(block_idx).filter(|&list| tried.insert(list));
            let unit = list
                .and_then(|list| self.procedure(list, &place, budget))
                .unwrap_or_else(|| self.unit(&place, self.after_unit(block_idx), budget.max));
            at = unit.atoms.end;
            units.push(unit);
        }
        units
    }

    /// Takes the atoms from `place.start` on that belong to blocks before `past_block`, at least one.
    fn unit(&self, place: &Range<usize>, past_block: usize, limit: usize) -> Unit {
        let rest = self.atoms.get(place.clone()).unwrap_or_default();
        let n_atoms = rest.partition_point(|atom| atom.block < past_block).max(1);
        // A paragraph may be the lines of a chat, of which the first need not be a turn.
        let n_atoms = (1..n_atoms).find(|n| self.is_turn(place.start + n)).unwrap_or(n_atoms);
        self.unit_of(place.start..place.start + n_atoms, limit)
    }

    fn unit_of(&self, atoms: Range<usize>, limit: usize) -> Unit {
        let is_heading = self.atom(atoms.start).is_some_and(|atom| self.is_heading(atom));
        let tokens_before = |atom: usize| self.before.get(atom).copied().unwrap_or(0);
        let n_tokens = tokens_before(atoms.end).saturating_sub(tokens_before(atoms.start));
        Unit { atoms, n_tokens, limit, is_heading, is_alone: false }
    }

    fn is_turn(&self, atom: usize) -> bool {
        self.atom(atom).is_some_and(|it| self.turns.binary_search(&it.start).is_ok())
    }

    /// Returns, for the atoms of a chunk that begins with a turn, where the last sentences of the turn before begin
    /// that make at most `max` tokens with it; its own start for the first turn and for long ones.
    pub(super) fn turn(&self, atoms: Range<usize>, max: usize) -> Option<usize> {
        let is_heading = |at: usize| self.atom(at).is_some_and(|it| self.is_heading(it));
        atoms
            .clone()
            .find(|at| self.is_turn(*at) || !is_heading(*at))
            .filter(|at| self.is_turn(*at))?;
        let mut start = self.atom(atoms.start)?.start;
        let mut n_tokens = self.unit_of(atoms.clone(), max).n_tokens;
        for at in (0..atoms.start).rev() {
            let (atom, is_turn) = (self.atom(at)?, self.is_turn(at));
            n_tokens += atom.n_tokens;
            if n_tokens > max || is_heading(at) && !is_turn {
                break;
            }
            start = atom.start;
            if is_turn {
                break;
            }
        }
        Some(start)
    }

    /// Takes a whole ordered list whose first item begins at `place.start`, with everything between its items.
    /// Returns `None` when the list is too large, a heading interrupts it, or it contains facts.
    fn procedure(&self, list: u32, place: &Range<usize>, budget: &Budget) -> Option<Unit> {
        let past_block = self.after_nested(*self.list_ends.get(&list)?);
        let whole = self.unit(place, past_block, budget.max_procedure());
        let is_in_one_section = self.is_same_section(whole.atoms.start, whole.atoms.end - 1);
        let blocks = whole.atoms.clone().filter_map(|atom| self.atoms.get(atom)).map(|it| it.block);
        let has_facts = blocks.into_iter().any(|block| self.facts.contains(&block));
        (whole.n_tokens <= whole.limit && is_in_one_section && !has_facts).then_some(whole)
    }

    fn ordered_list(&self, block_idx: usize) -> Option<u32> {
        match self.blocks.get(block_idx)?.kind {
            BlockKind::ListItem { list, ordinal: Some(_), .. } => Some(list),
            _ => None,
        }
    }

    /// Returns the index after the block, or after the last row of its table that is no fact.
    fn after_unit(&self, block_idx: usize) -> usize {
        let table = self.blocks.get(block_idx).and_then(table_of);
        let goes_on = |(idx, block): &(usize, &Block)| {
            table.is_some() && table_of(block) == table && !self.facts.contains(idx)
        };
        let rest = self.blocks.iter().enumerate().skip(block_idx + 1);
        block_idx + 1 + rest.take_while(goes_on).count()
    }

    /// Returns the index after the items nested in the list item `last`.
    fn after_nested(&self, last: usize) -> usize {
        let depth_of = |block: &Block| match block.kind {
            BlockKind::ListItem { depth, .. } => Some(depth),
            _ => None,
        };
        let own = self.blocks.get(last).and_then(depth_of);
        // Blocks that are not list items have no depth, and `None > Some(_)` is false: the run ends there.
        let nested = self.blocks.iter().skip(last + 1).take_while(|block| depth_of(block) > own);
        last + 1 + nested.count()
    }

    /// True for a heading, and for a row that names the columns of rows which have chunks of their own.
    fn is_heading(&self, atom: &Atom) -> bool {
        match self.blocks.get(atom.block).map(|block| &block.kind) {
            Some(BlockKind::Heading(_)) => true,
            Some(BlockKind::TableRow { is_header: true, .. }) => {
                self.facts.contains(&(atom.block + 1))
            }
            _ => false,
        }
    }

    /// The atom at an index.
    pub(super) fn atom(&self, idx: usize) -> Option<&Atom> {
        self.atoms.get(idx)
    }

    /// True when both atoms are in one section.
    pub(super) fn is_same_section(&self, a: usize, b: usize) -> bool {
        self.section_of(a) == self.section_of(b)
    }

    fn section_of(&self, atom: usize) -> usize {
        self.sections.partition_point(|section| section.atoms.end <= atom)
    }

    /// Returns the headings that all text of these atoms is under, outermost first; for the rows of a table that begins
    /// before them, its first row too. Headings without text are used only if there is nothing else. The document's
    /// title is left out.
    pub(super) fn headings(&self, doc: &Document, atoms: Range<usize>) -> Vec<String> {
        let (first, last) =
            (self.section_of(atoms.start), self.section_of(atoms.end.saturating_sub(1)));
        let sections = self.sections.get(first..=last).unwrap_or_default();
        let with_body = sections.iter().filter(|section| section.has_body);
        let path_of =
            |section: &Section| section.heading.map_or_else(Vec::new, |heading| self.path(heading));
        let shared = with_body.map(path_of).reduce(|shared, path| {
            shared.into_iter().zip(path).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
        });
        let path = shared.or_else(|| sections.first().map(path_of)).unwrap_or_default();
        let text_of = |&heading: &usize| {
            let text = self.blocks.get(heading)?.span.of(&doc.text).trim();
            (!text.is_empty()).then(|| text.replace('\n', " "))
        };
        let mut headings: Vec<String> = path.iter().filter_map(text_of).collect();
        if headings.first() == Some(&doc.title) {
            headings.remove(0);
        }
        headings.extend(self.columns(doc, atoms.start));
        headings
    }

    /// Returns the names of the columns, for an atom that is a row below them. Long ones are cut between cells.
    fn columns(&self, doc: &Document, first: usize) -> Option<String> {
        let row = self.atom(first)?.block;
        let head = *self.table_heads.get(&table_of(self.blocks.get(row)?)?)?;
        let text = self.blocks.get(head).filter(|_| head < row)?.span.of(&doc.text).trim();
        let fitting = text.get(..text.floor_char_boundary(MAX_COLUMNS_BYTES))?;
        let end = if fitting == text { None } else { fitting.rfind(" | ") };
        Some(fitting.get(..end.unwrap_or(fitting.len()))?.to_string())
    }
}

fn table_of(block: &Block) -> Option<u32> {
    match block.kind {
        BlockKind::TableRow { table, .. } => Some(table),
        _ => None,
    }
}
