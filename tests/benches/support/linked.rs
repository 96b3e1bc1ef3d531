//! Linked: notes like those of people and agents, with a given number of links. Deterministic.
//!
//! A note has front matter, headings, sentences of common words, observations, and links: by title,
//! with other words, by path; some are typed relations. Some notes have more links than others,
//! [`HUB`] those of [`N_TO_HUB`] notes.

use std::path::Path;

use anyhow::Result;

/// The note with the most links to it.
pub(crate) const HUB: &str = "area-0/hub.md";

/// Notes that link to it.
pub(crate) const N_TO_HUB: usize = 1_000;

/// Notes per folder.
const A_FOLDER: usize = 200;

pub(crate) const NOUNS: &[&str] = &[
    "harbor", "lamp", "engine", "garden", "bridge", "letter", "river", "window", "market",
    "signal", "ladder", "mirror", "valley", "kettle", "anchor", "forest", "needle", "basket",
    "tunnel", "copper", "candle", "meadow", "pencil", "saddle", "timber", "violin", "wagon",
    "island", "hammer", "orchard",
];

pub(crate) const VERBS: &[&str] = &[
    "keeps", "carries", "follows", "repairs", "measures", "replaces", "answers", "delays",
    "records", "guards", "feeds", "opens", "counts", "sorts", "turns", "warms",
];

pub(crate) const ADJECTIVES: &[&str] = &[
    "quiet", "narrow", "early", "broken", "silver", "distant", "steady", "hollow", "bright",
    "gentle", "heavy", "clear", "rough", "modern", "spare", "double", "late", "warm", "plain",
    "sudden",
];

pub(crate) const RELATIONS: &[&str] =
    &["implements", "depends on", "part of", "follows", "inspired by"];

const CATEGORIES: &[&str] = &["fact", "decision", "idea", "question", "method"];

/// Generated notes.
pub(crate) struct Linked {
    n_notes: usize,
    n_links: usize,
}

impl Linked {
    /// Describes this many notes with this many links between them.
    pub(crate) fn new(n_notes: usize, n_links: usize) -> Self {
        Linked { n_notes, n_links }
    }

    /// Writes the notes below `root`.
    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        for n in 0..self.n_notes {
            let path = root.join(path(n));
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, self.text(n))?;
        }
        Ok(())
    }

    /// Returns the paths of all notes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        (0..self.n_notes).map(path)
    }

    /// Returns the paths of some notes, with a question about each.
    pub(crate) fn sample(&self, n: usize) -> impl Iterator<Item = (String, String)> {
        let step = (self.n_notes / n).max(1);
        (0..self.n_notes).step_by(step).take(n).map(|note| {
            let mut dice = Dice::of(note + self.n_notes);
            let (adjective, noun, verb) =
                (dice.word(ADJECTIVES), dice.word(NOUNS), dice.word(VERBS));
            (path(note), format!("which {adjective} {noun} {verb} the {}", dice.word(NOUNS)))
        })
    }

    /// Returns the text of a note.
    pub(crate) fn text(&self, n: usize) -> String {
        let mut dice = Dice::of(n);
        let status = dice.word(&["open", "done", "waiting"]);
        let (priority, tag, more) = (dice.below(5) + 1, dice.word(NOUNS), dice.word(ADJECTIVES));
        let title = title(n);
        let mut text = format!(
            "---\ntitle: {title}\ntype: {}\ntags: [{tag}, {more}/{tag}]\nstatus: {status}\n\
             priority: {priority}\n---\n\n# {title}\n\n",
            dice.word(&["note", "project", "person", "meeting"])
        );
        let mut links = self.links(n, &mut dice);
        for _ in 0..2 {
            let sentences = (0..3).map(|_| sentence(&mut dice, links.pop()));
            text += &sentences.collect::<String>();
            text += "\n\n";
        }
        text += "## Observations\n\n";
        for _ in 0..2 {
            let (category, tag) = (dice.word(CATEGORIES), dice.word(NOUNS));
            text += &format!("- [{category}] {}#{tag}\n", sentence(&mut dice, None));
        }
        text += "\n## Relations\n\n";
        for (idx, link) in links.into_iter().enumerate() {
            match idx % 2 {
                0 => text += &format!("- {} {link}\n", dice.word(RELATIONS)),
                _ => text += &format!("- See {link} for the {}.\n", dice.word(NOUNS)),
            }
        }
        text
    }

    /// Returns the links of a note, in reverse order of use.
    fn links(&self, n: usize, dice: &mut Dice) -> Vec<String> {
        let whole = self.n_links / self.n_notes;
        let rest = self.n_links % self.n_notes;
        let n_links = whole + usize::from(n < rest);
        let to_hub = n > 0 && n <= N_TO_HUB;
        let mut links: Vec<String> = (usize::from(to_hub)..n_links)
            .map(|_| {
                // Squaring the random number concentrates links on some notes.
                let share = dice.below(1 << 16) as f64 / f64::from(1 << 16);
                let target = (share * share * (self.n_notes - 1) as f64) as usize + 1;
                link(target.min(self.n_notes - 1), dice)
            })
            .collect();
        links.extend(to_hub.then(|| link(0, dice)));
        links
    }
}

fn path(n: usize) -> String {
    match n {
        0 => HUB.to_string(),
        _ => format!("area-{}/{}.md", n / A_FOLDER, title(n).to_lowercase().replace(' ', "-")),
    }
}

fn title(n: usize) -> String {
    if n == 0 {
        return "Hub".to_string();
    }
    let mut dice = Dice::of(n * 31);
    let (adjective, noun) = (dice.word(ADJECTIVES), dice.word(NOUNS));
    let mut title = format!("{adjective} {noun} {n}");
    title[..1].make_ascii_uppercase();
    title
}

fn link(target: usize, dice: &mut Dice) -> String {
    let (path, title) = (path(target), title(target));
    let stem = path.trim_end_matches(".md");
    let file = stem.rsplit('/').next().unwrap_or(stem);
    match dice.below(3) {
        0 => format!("[[{stem}|{title}]]"),
        1 => format!("[[{title}]]"),
        _ => format!("[[{file}]]"),
    }
}

pub(crate) fn sentence(dice: &mut Dice, link: Option<String>) -> String {
    let object =
        link.unwrap_or_else(|| format!("the {} {}", dice.word(ADJECTIVES), dice.word(NOUNS)));
    format!(
        "The {} {} {} {object} and {} the {} before the {} {}. ",
        dice.word(ADJECTIVES),
        dice.word(NOUNS),
        dice.word(VERBS),
        dice.word(VERBS),
        dice.word(NOUNS),
        dice.word(ADJECTIVES),
        dice.word(NOUNS),
    )
}

/// A random number generator with a fixed seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: usize) -> Self {
        let mut dice = Dice((seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..4).for_each(|_| _ = dice.below(2));
        dice
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    pub(crate) fn word<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }
}
