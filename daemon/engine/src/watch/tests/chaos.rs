//! Random changes, random commits: in the end the index holds what the folder holds.

use super::*;
use crate::watch::crawl::crawl;

/// A small random number generator; the same seed gives the same folder, if not the same timing.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.roll(names.len())]
    }
}

const FOLDERS: [&str; 6] = ["", "a", "a/b", "a/b/c", "d", "d/e"];
const FILES: [&str; 4] = ["x.md", "y.md", "z.txt", "w.rs"];

/// Makes one change. Most errors mean that there is nothing to change; they are ignored.
fn change(project: &Project, dice: &mut Dice) {
    let folder = project.path(dice.pick(&FOLDERS));
    let file = folder.join(dice.pick(&FILES));
    let other = project.path(dice.pick(&FOLDERS));
    let _ = match dice.roll(12) {
        0..=4 => {
            fs::create_dir_all(&folder).and_then(|()| fs::write(&file, dice.roll(3).to_string()))
        }
        5 => fs::remove_file(&file),
        6 | 7 => fs::rename(&file, other.join(dice.pick(&FILES))),
        8 | 9 if folder != project.path("") => {
            fs::rename(&folder, project.path(dice.pick(&FOLDERS)))
        }
        10 if folder != project.path("") => fs::remove_dir_all(&folder),
        _ => fs::write(folder.join(".gitignore"), dice.pick(&["", "y.md\n", "b/\n", "!y.md\n"])),
    };
}

/// Returns the contents of the folder and of the index.
fn compare(project: &Project) -> (Vec<String>, Vec<String>) {
    let intake = &project.handle.life.shared.intake;
    let rules = Rules::new(&project.path(""), &settings());
    let found = crawl(&intake.project_folder, &rules, "", &mut |_| {}).found;
    let on_disk = found.into_iter().map(|found| {
        let text = fs::read(project.path(found.path.as_str())).expect("it is there");
        format!("{} {}", found.path, ContentHash::of(&text).to_hex())
    });
    let committed = lock(&project.known.0);
    let known = committed.iter().map(|(path, (file, _))| format!("{path} {}", file.hash.to_hex()));
    (on_disk.collect(), known.collect())
}

async fn run(seed: u64) {
    let mut project = Project::start(&[("a/x.md", "0"), ("d/y.md", "0")]);
    project.commits = false;
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut waiting: Vec<Item<SourceDoc>> = Vec::new();
    let mut committed: BTreeMap<RelPath, Generation> = BTreeMap::new();
    for _ in 0..120 {
        change(&project, &mut dice);
        while let Ok(item) = project.interactive.try_recv().or_else(|_| project.bulk.try_recv()) {
            waiting.push(item);
        }
        let path = RelPath::new(format!("a/{}", dice.pick(&FILES)));
        match dice.roll(40) {
            0 => project.handle.request_rescan(),
            1 => project.handle.requeue([path]),
            2 => drop(project.handle.submit(vec![path], false).await),
            3..=10 => tokio::task::yield_now().await,
            _ => {}
        }
        if dice.roll(8) == 0 && !waiting.is_empty() {
            let item = waiting.swap_remove(dice.roll(waiting.len()));
            commit(&project, &mut committed, &item);
        }
    }
    project.put("zz-last.md", "last");
    let mut is_last_seen = false;
    let state = project.handle.state().clone();
    let end = async {
        loop {
            let is_settled = state.is_settled();
            while let Ok(item) = project.interactive.try_recv().or_else(|_| project.bulk.try_recv())
            {
                is_last_seen |= item.ticket().path.as_str() == "zz-last.md";
                waiting.push(item);
            }
            if is_settled && is_last_seen {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, end).await.expect("it settles");
    while !waiting.is_empty() {
        let item = waiting.swap_remove(dice.roll(waiting.len()));
        commit(&project, &mut committed, &item);
    }
    let (on_disk, known) = compare(&project);
    assert_eq!(known, on_disk, "seed {seed}");
    assert_eq!(state.n_known_files(), on_disk.len() as u64, "seed {seed}");
}

/// Commits an item unless a newer one of its path has been committed.
fn commit(
    project: &Project,
    committed: &mut BTreeMap<RelPath, Generation>,
    item: &Item<SourceDoc>,
) {
    let ticket = item.ticket();
    let newest = committed.entry(ticket.path.clone()).or_default();
    if ticket.generation > *newest {
        *newest = ticket.generation;
        project.known.commit(item);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_end_the_index_holds_what_the_folder_holds() {
    let n_seeds = std::env::var("KG_CHAOS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    for seed in 1..=n_seeds {
        run(seed).await;
    }
}
