//! Import: turns entities and relations of a memory into notes.
//!
//! In: the contents of a file, and the target folder. Out: `memory/NAME.md` for each entity, and a report.
//! Invariants: different names give different notes; an existing note is not changed, unless merging is requested,
//! which only adds what is missing; importing the same file again changes nothing.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use notes::edit::{Op, apply, edit_all, next_block_id};
use notes::filename::file_name;
use notes::parse::parse;
use notes::slug::path_slug;

use super::super::{Added, NoteSink, Report};
use super::note::{self, OBSERVATIONS, RELATIONS};
use super::{Entity, Read, Relation};

/// The folder of the notes, below the target folder.
pub const FOLDER: &str = "memory";

/// Largest note that the daemon reads with default settings, bytes, and most observations of one note.
const MAX_NOTE_BYTES: usize = 2_000_000;
const MAX_OBSERVATIONS: usize = 20_000;

/// Options of an import.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Report without writing.
    pub dry_run: bool,
    /// Add missing items to existing notes.
    pub merge: bool,
}

/// An entity with its relations and its file.
struct Thing {
    at: String,
    entity: Entity,
    /// Each with its place in the imported file.
    relations: BTreeMap<Relation, String>,
    file: String,
    is_there: bool,
}

impl Thing {
    /// Returns its path without extension, which a link can always contain.
    fn path(&self) -> String {
        format!("{FOLDER}/{}", self.file.trim_end_matches(".md"))
    }
}

/// Imports the contents of a file.
///
/// # Errors
/// When the folder cannot be read; notes that cannot be written are in the report.
pub fn import(
    read: Read,
    sink: &mut NoteSink,
    options: Options,
    report: &mut Report,
) -> std::io::Result<()> {
    for it in &read.remarks {
        report.remark(&it.at, &it.what);
    }
    for it in &read.troubles {
        report.trouble(&it.at, &it.what, it.hint.as_deref().unwrap_or(""));
    }
    report.add("entities read", read.entities.len() as u64);
    report.add("relations read", read.relations.len() as u64);
    let mut things = unique(read.entities, report);
    place(&mut things, &read.relations, sink)?;
    let by_name: HashMap<String, usize> =
        things.iter().enumerate().map(|(idx, it)| (it.entity.name.clone(), idx)).collect();
    for (at, relation) in read.relations {
        let Some(thing) = by_name.get(&relation.from).and_then(|idx| things.get_mut(*idx)) else {
            let what = format!(
                "`{}` is not an entity, so no note can state that it {} `{}`",
                relation.from, relation.relation_type, relation.to
            );
            report.trouble(at, what, "add an entity of that name to the file, and import again");
            continue;
        };
        if !by_name.contains_key(&relation.to) {
            report
                .remark(&at, format!("`{}` is not an entity: the link leads nowhere", relation.to));
        }
        match thing.relations.entry(relation) {
            Entry::Vacant(free) => drop(free.insert(at)),
            Entry::Occupied(_) => report.remark(at, "the relation is there twice"),
        }
    }
    let targets = Targets::of(&things);
    for thing in &things {
        let items = items_of(thing, &things, &by_name, &targets, report);
        match thing.is_there {
            false => add(thing, &items, sink, options, report),
            true if options.merge => merge(thing, &items, sink, options, report),
            true => report.remark(&thing.at, format!("`{}/{}` already exists", FOLDER, thing.file)),
        }
        report.add("notes already there", u64::from(thing.is_there));
    }
    Ok(())
}

/// Merges entities of the same name: the first gets the additions of the others.
fn unique(entities: Vec<(String, Entity)>, report: &mut Report) -> Vec<Thing> {
    let mut things: Vec<Thing> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for (at, entity) in entities {
        report.add("observations read", entity.observations.len() as u64);
        let known = by_name.get(&entity.name).and_then(|idx| things.get_mut(*idx));
        let Some(first) = known else {
            by_name.insert(entity.name.clone(), things.len());
            let relations = BTreeMap::new();
            things.push(Thing { at, entity, relations, file: String::new(), is_there: false });
            continue;
        };
        let mut what = format!("`{}` is also at {}: one note for both", entity.name, first.at);
        if first.entity.entity_type != entity.entity_type {
            what += &format!(
                "; its type stays `{}`, not `{}`",
                first.entity.entity_type, entity.entity_type
            );
        }
        report.remark(at, what);
        for it in entity.observations {
            if !first.entity.observations.contains(&it) {
                first.entity.observations.push(it);
            }
        }
    }
    things
}

/// Assigns each thing its existing file, else a free name. Adds things that only relations name, if they have a note.
fn place(
    things: &mut Vec<Thing>,
    relations: &[(String, Relation)],
    sink: &mut NoteSink,
) -> std::io::Result<()> {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    // The name of a note's entity is in its text; the file name is only derived from it.
    for name in sink.names(FOLDER)? {
        taken.insert(names::fold(&name));
        let Some(stem) = name.strip_suffix(".md") else { continue };
        if let Some(text) = sink.read(FOLDER, &name)? {
            let entity = note::entity(&parse(&text), stem);
            // Of two files with the same entity, the first by name is used, always the same.
            known.entry(entity.name).or_insert(name);
        }
    }
    let read: HashSet<&str> = things.iter().map(|it| it.entity.name.as_str()).collect();
    let mut others: Vec<(String, String)> = Vec::new();
    for (at, relation) in relations {
        for name in [&relation.from, &relation.to] {
            let is_other = !read.contains(name.as_str()) && known.contains_key(name);
            if is_other && others.iter().all(|(_, other)| other != name) {
                others.push((at.clone(), name.clone()));
            }
        }
    }
    things.extend(others.into_iter().map(|(at, name)| Thing {
        at,
        entity: Entity { name, entity_type: String::new(), observations: Vec::new() },
        relations: BTreeMap::new(),
        file: String::new(),
        is_there: true,
    }));
    // Like the others, but without a type or facts of its own: only relations are added to it.
    for thing in things {
        if let Some(file) = known.get(&thing.entity.name) {
            thing.file.clone_from(file);
            thing.is_there = true;
            continue;
        }
        let name = &thing.entity.name;
        let numbered = (2..).map(|n| file_name(&format!("{name} {n}")));
        let mut names = std::iter::once(file_name(name)).chain(numbered);
        thing.file = names.find(|it| taken.insert(names::fold(it))).unwrap_or_default();
    }
    Ok(())
}

/// Names that a link may resolve to: names, file names, and the permalinks made of them; each with its things.
struct Targets(HashMap<String, BTreeSet<usize>>);

impl Targets {
    fn of(things: &[Thing]) -> Self {
        let mut targets: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for (idx, thing) in things.iter().enumerate() {
            for words in [thing.entity.name.as_str(), thing.file.trim_end_matches(".md")] {
                targets.entry(path_slug(words)).or_default().insert(idx);
            }
        }
        Targets(targets)
    }

    /// Returns true when a link by the thing's name leads only to it.
    fn is_clear(&self, thing: &Thing) -> bool {
        let name = &thing.entity.name;
        let led_to = self.0.get(&path_slug(name)).map_or(0, BTreeSet::len);
        led_to == 1 && note::is_a_title(name) && !name.contains('/') && !name.ends_with(".md")
    }
}

/// Returns the relations of a thing as list items, each with the possible forms of its target in a note.
fn items_of(
    thing: &Thing,
    things: &[Thing],
    by_name: &HashMap<String, usize>,
    targets: &Targets,
    report: &mut Report,
) -> Vec<(Relation, String, [String; 2])> {
    let mut items = Vec::new();
    for (relation, at) in &thing.relations {
        let to = by_name.get(&relation.to).and_then(|idx| things.get(*idx));
        let path = to.map(Thing::path);
        let is_clear = to.is_none_or(|to| targets.is_clear(to));
        // By name where that is unambiguous, because people read it; else by path. If the name cannot be a link, by
        // path, too.
        let by_path = path.as_deref().filter(|_| !is_clear);
        let item = note::relation(&relation.relation_type, &relation.to, by_path)
            .or_else(|| note::relation(&relation.relation_type, &relation.to, path.as_deref()));
        match item {
            Some(item) => {
                // Both forms, so that merging finds a relation that was written in the other one.
                let forms = [relation.to.clone(), path.unwrap_or_else(|| relation.to.clone())];
                items.push((relation.clone(), item, forms));
            }
            None => {
                let statement =
                    format!("`{}` {} `{}`", relation.from, relation.relation_type, relation.to);
                // An existing note may be at a path that no link can contain.
                let (why, hint) = match to {
                    Some(to) => (
                        format!("no link can lead to `{FOLDER}/{}`", to.file),
                        "give the file another name, and import again",
                    ),
                    None => (
                        "which is not an entity and cannot be a link".to_string(),
                        "add an entity of that name to the file, and import again",
                    ),
                };
                report.trouble(at, format!("{statement}, {why}"), hint);
            }
        }
    }
    items
}

fn add(
    thing: &Thing,
    items: &[(Relation, String, [String; 2])],
    sink: &mut NoteSink,
    options: Options,
    report: &mut Report,
) {
    let path = format!("{FOLDER}/{}", thing.file);
    let relations: Vec<String> = items.iter().map(|(_, item, _)| item.clone()).collect();
    let text = match note::render(&thing.entity, &relations) {
        Ok(text) => text,
        Err(error) => return report.trouble(&thing.at, error.to_string(), ""),
    };
    let n_facts = thing.entity.observations.len();
    if text.len() > MAX_NOTE_BYTES || n_facts > MAX_OBSERVATIONS {
        let what = format!(
            "`{path}` has {} bytes and {n_facts} observations, too large to be indexed",
            text.len()
        );
        report.remark(&thing.at, what);
    }
    let added = if options.dry_run {
        Ok(Added::New)
    } else {
        sink.add(FOLDER, &thing.file, text.as_bytes())
    };
    match added {
        Ok(Added::New) => {
            report.add("observations written", n_facts as u64);
            report.add("relations written", items.len() as u64);
            report.note(path);
        }
        Ok(Added::There) => {
            report.trouble(path, "was created by another program just now", "import again")
        }
        Err(error) => report.trouble(path, format!("cannot be written: {error}"), "import again"),
    }
}

/// Adds what a note lacks.
fn merge(
    thing: &Thing,
    items: &[(Relation, String, [String; 2])],
    sink: &mut NoteSink,
    options: Options,
    report: &mut Report,
) {
    let path = format!("{FOLDER}/{}", thing.file);
    let text = match sink.read(FOLDER, &thing.file) {
        Ok(Some(text)) => text,
        Ok(None) => return report.trouble(path, "is not text", "look at it"),
        Err(error) => {
            return report.trouble(path, format!("cannot be read: {error}"), "look at it");
        }
    };
    let note = parse(&text);
    let stem = thing.file.trim_end_matches(".md");
    let known: HashSet<String> = note::entity(&note, stem).observations.into_iter().collect();
    let related: HashSet<(String, String)> = note::relations(&note).into_iter().collect();
    // `^o1` and so on, after the highest that the note has ever used.
    let letters = "o";
    let first = next_block_id(&text, letters, 1);
    let first: u64 = first.trim_start_matches(letters).parse().unwrap_or(1);
    // Compared as decoded texts, so that a fact written in another form is not added twice.
    let missing = thing.entity.observations.iter().filter(|it| !known.contains(*it));
    let mut ops: Vec<Op> = missing
        .zip(first..)
        .map(|(fact, n)| Op::AddItem {
            section: Some(OBSERVATIONS.to_string()),
            text: note::observation(fact),
            id: Some(format!("{letters}{n}")),
        })
        .collect();
    let n_facts = ops.len();
    for (relation, item, forms) in items {
        let is_there =
            |form: &String| related.contains(&(relation.relation_type.clone(), form.clone()));
        if !forms.iter().any(is_there) {
            let section = Some(RELATIONS.to_string());
            ops.push(Op::AddItem { section, text: item.clone(), id: None });
        }
    }
    if ops.is_empty() {
        return;
    }
    let new = match edit_all(&text, &ops) {
        Ok(changes) => apply(&text, &changes),
        Err(error) => return report.trouble(path, error.to_string(), "look at the note"),
    };
    let replaced =
        // The old text is passed: a note that changed since it was read is left alone.
        if options.dry_run { Ok(true) } else { sink.replace(FOLDER, &thing.file, &text, &new) };
    match replaced {
        Ok(true) => {
            report.count("notes added to");
            report.add("observations written", n_facts as u64);
            report.add("relations written", (ops.len() - n_facts) as u64);
        }
        Ok(false) => {
            report.trouble(path, "was changed by another program just now", "import again")
        }
        Err(error) => report.trouble(path, format!("cannot be written: {error}"), "import again"),
    }
}

#[cfg(test)]
mod tests;
