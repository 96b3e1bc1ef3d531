//! An index with a damaged page; every page in turn.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::*;

/// Bytes of a page.
const PAGE: u64 = 4096;

#[test]
fn a_start_outlives_damage_to_any_one_page() {
    let mut bench = Bench::new();
    let texts: Vec<Item<Document>> = (0..6)
        .map(|i| {
            let text = format!(
                "---\ntags: [t{i}]\n---\n# Note {i}\n\nThe Key Store {i} depends on [[Note {}]].\n",
                i + 1
            );
            bench.item(&format!("note {i}.md"), &text)
        })
        .collect();
    bench.commit(&texts);
    while bench.writer.ripple(true).expect("settles") == RippleStep::Progress {}
    bench.writer.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("checkpointed");
    let Bench { writer, embedder, folder, .. } = bench;
    let path = writer.path().to_path_buf();
    drop(writer);
    let sound = std::fs::read(&path).expect("read");
    let (n_pages, mut n_rebuilt) = (sound.len() as u64 / PAGE, 0);
    for page in 0..n_pages {
        std::fs::write(&path, &sound).expect("written");
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.write_all_at(&[0xa5; 512], page * PAGE))
            .expect("damaged");
        let writer =
            IndexWriter::open(folder.path(), "test", &Settings::default(), embedder.clone());
        let writer = writer.unwrap_or_else(|error| panic!("page {page} of {n_pages}: {error}"));
        let n_docs: i64 =
            writer.db.query_row("SELECT count(*) FROM docs", [], |row| row.get(0)).unwrap_or(-1);
        n_rebuilt += u64::from(n_docs == 0);
        drop(writer);
        let old = path.with_extension("sqlite.old");
        let _ = std::fs::remove_file(old);
    }
    assert!(n_rebuilt > 0, "some damage is found at the start, the rest when it is read");
}
