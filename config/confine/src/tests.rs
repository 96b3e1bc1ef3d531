use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::fs::{CWD, mknodat};

use super::*;

const WAYS: [Way; 3] = [Way::Kernel, Way::Walk, Way::Plain];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(place.at("in/sub/deep")).expect("made");
        fs::create_dir_all(place.at("out")).expect("made");
        for path in ["in/a.md", "in/sub/b.md", "in/sub/deep/c.md"] {
            fs::write(place.at(path), path).expect("written");
        }
        fs::write(place.at("out/secret.md"), "secret").expect("written");
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn root(&self, way: Way) -> Root {
        Root { way, ..Root::open(&self.at("in")).expect("opened") }
    }
}

/// Describes where a path leads: its path without links and its content, or the error.
fn describe(root: &Root, path: &str) -> String {
    let found = match root.find(path) {
        Ok(found) => found,
        Err(error) => return error.to_string(),
    };
    let text = match found.read(100) {
        Ok(Some(content)) => String::from_utf8(content.bytes).expect("text"),
        Ok(None) => format!("{:?}", found.meta.kind),
        Err(error) => error.to_string(),
    };
    format!("{}: {text}", found.real)
}

#[test]
fn all_ways_open_the_same_and_nothing_outside() {
    let place = Place::new();
    for (target, link) in [
        ("a.md", "link.md"),
        ("sub", "folder"),
        ("../out/secret.md", "out.md"),
        ("../out", "out"),
        ("..", "around"),
        (".", "itself"),
        ("nowhere", "dangling"),
        ("loop", "loop"),
        ("sub/../a.md", "back.md"),
        ("/proc/self/root", "magic"),
    ] {
        symlink(target, place.at("in").join(link)).expect("a link");
    }
    symlink(place.at("in/sub/b.md"), place.at("in/absolute.md")).expect("a link");
    symlink(place.at("out/secret.md"), place.at("in/absolute-out.md")).expect("a link");
    mknodat(CWD, place.at("in/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let out = "it leads out of the folder";
    for (path, expected) in [
        ("a.md", "a.md: in/a.md"),
        ("sub/deep/c.md", "sub/deep/c.md: in/sub/deep/c.md"),
        ("sub", "sub: Folder"),
        ("", ": Folder"),
        ("link.md", "a.md: in/a.md"),
        ("folder/b.md", "sub/b.md: in/sub/b.md"),
        ("absolute.md", "sub/b.md: in/sub/b.md"),
        ("itself/a.md", "a.md: in/a.md"),
        ("back.md", "a.md: in/a.md"),
        ("pipe", "pipe: Other"),
        ("out.md", out),
        ("out", out),
        ("out/secret.md", out),
        ("absolute-out.md", out),
        ("around/out/secret.md", out),
        ("around", "it leads to a folder around this one"),
        ("magic", "it leads to a folder around this one"),
        ("../out/secret.md", out),
        ("sub/../../out/secret.md", out),
        ("/etc/hostname", out),
        ("sub//b.md", out),
        ("dangling", "the path has a broken symbolic link"),
        ("loop", "a loop of symbolic links"),
        ("missing.md", "No such file or directory (os error 2)"),
        ("a.md/b.md", "Not a directory (os error 20)"),
    ] {
        for way in WAYS {
            let expected = match (path, way) {
                ("pipe", Way::Plain) => "Operation not supported (os error 95)",
                _ => expected,
            };
            assert_eq!(describe(&place.root(way), path), expected, "{path} by {way:?}");
        }
    }
    for way in WAYS {
        let root = place.root(way);
        assert!(root.look("out.md").expect("seen").is_link());
        assert!(root.look("folder/b.md").expect("seen").is_file());
        assert!(root.look("out/secret.md").expect_err("outside").leads_out());
        assert!(root.list("out").expect_err("outside").leads_out());
        assert!(root.list("a.md").expect_err("no folder").is_missing());
        let names: Vec<_> = root.list("folder").expect("listed").entries.into_iter().collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}

#[test]
fn a_place_to_write_is_inside_and_is_made_where_that_is_wanted() {
    let place = Place::new();
    symlink("../out", place.at("in/out")).expect("a link");
    symlink("sub", place.at("in/folder")).expect("a link");
    for way in WAYS {
        let root = place.root(way);
        assert!(root.spot("new/x.md", Missing::Refuse).expect_err("none").is_missing());
        assert!(root.spot("out/x.md", Missing::Make).expect_err("outside").leads_out());
        assert!(root.spot("a.md/x.md", Missing::Make).expect_err("a file").is_missing());
        let spot = root.spot(&format!("folder/{way:?}/e/x.md"), Missing::Make).expect("made");
        assert_eq!((spot.name.as_str(), spot.real), ("x.md", format!("sub/{way:?}/e/x.md")));
        assert!(place.at(&format!("in/sub/{way:?}/e")).is_dir());
    }
    assert_eq!(fs::read_dir(place.at("out")).expect("a folder").count(), 1);
}

/// Swaps of a file, and of a folder, that each way must withstand.
const N_SWAPS: u32 = 5_000;

/// Replaces files and folders with links that lead out, and back, as fast as possible.
#[test]
fn nothing_outside_is_opened_while_links_are_swapped_in() {
    for way in WAYS {
        let place = Place::new();
        fs::write(place.at("out/b.md"), "secret").expect("written");
        let n_swaps = AtomicU32::new(0);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    swap(&place.at("in/a.md"), &place.at("out/secret.md"));
                    swap(&place.at("in/sub"), &place.at("out"));
                    n_swaps.fetch_add(1, Ordering::Relaxed);
                }
            });
            let root = place.root(way);
            let mut n_inside = [0; 4];
            let is_enough = |n_inside: &[u32]| {
                n_inside.iter().all(|n| *n > 0) && n_swaps.load(Ordering::Relaxed) >= N_SWAPS
            };
            while !is_enough(&n_inside) {
                for (n, path) in ["a.md", "sub/b.md"].into_iter().enumerate() {
                    if let Ok(Some(content)) = root.read(path, 100) {
                        assert_ne!(content.bytes, b"secret", "{path} by {way:?}");
                        n_inside[n] += 1;
                    }
                }
                if let Ok(listing) = root.list("sub") {
                    assert!(listing.entries.iter().all(|(name, _)| name != "secret.md"));
                    n_inside[2] += 1;
                }
                if let Ok(spot) = root.spot("sub/secret.md", Missing::Refuse) {
                    assert!(entry(&spot.folder, &spot.name).is_err(), "by {way:?}");
                    n_inside[3] += 1;
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

/// Replaces something with a link, and the link with it again.
fn swap(path: &Path, target: &Path) {
    let aside = path.with_extension("aside");
    let _ = fs::rename(path, &aside);
    let _ = symlink(target, path);
    let _ = fs::remove_file(path);
    let _ = fs::rename(&aside, path);
}
