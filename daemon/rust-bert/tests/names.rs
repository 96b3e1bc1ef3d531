//! The same weights through rust-bert and through the ONNX loader: the same names, with the same probabilities.

mod support;

use std::path::Path;

use extract::recognize::tagger::TextTagger;
use kgd_rust_bert::NamePipeline;
use onnx::Tagger;
use support::bert::{Head, write_onnx};
use support::tiny::{LABELS, write_tiny};

const TEXTS: &[&str] = &[
    "Ada Lovelace wrote to Charles Babbage in London.",
    "The signing service rotates its keys every ninety days, or at 3:15 on a Sunday.",
    "naïve café — “quoted”, Ångström and 東京 (Tokyo) cost 5€.",
    "v1.2.3-rc.1 of C++ and C# for the_file_name.rs!",
    "don't stop; can't stop",
    "a",
    "?!",
    "line one\nline two\n\nparagraph",
];

fn models(folder: &Path) -> (NamePipeline, Tagger) {
    write_tiny(folder);
    write_onnx(folder, folder, Head::Classifier);
    let torch = NamePipeline::open(folder, false).expect("rust-bert loads it");
    let rten = Tagger::load(folder).expect("rten loads it");
    (torch, rten)
}

#[test]
fn both_give_the_same_names_with_the_same_probabilities() {
    let folder = tempfile::tempdir().expect("a folder");
    let (torch, rten) = models(folder.path());
    assert_eq!(TextTagger::classes(&torch), rten.classes());
    let (mut seen, mut n_names, mut worst) = (vec![false; rten.classes().len()], 0, 0.0_f32);
    for text in TEXTS {
        let (ours, theirs) = (rten.tag(text).expect("names"), torch.tag(text).expect("names"));
        let place = |name: &onnx::Tagged| (name.span.clone(), name.class);
        assert_eq!(
            theirs.iter().map(place).collect::<Vec<_>>(),
            ours.iter().map(place).collect::<Vec<_>>(),
            "{text:?}"
        );
        for (a, b) in ours.iter().zip(&theirs) {
            worst = worst.max((a.probability - b.probability).abs());
            seen[a.class] = true;
            n_names += 1;
        }
    }
    println!(
        "{n_names} names of {} labels, largest difference of probabilities {worst:.1e}",
        LABELS.len()
    );
    assert!(worst < 1e-4, "{worst}");
    assert!(
        n_names >= 20 && seen.iter().all(|seen| *seen),
        "the weights tell little: {n_names} names, {seen:?}"
    );
}

#[test]
fn it_is_a_recognizer_of_the_daemon() {
    use model::document::RecognizerKind;
    use extract::recognize::Recognizer;

    let folder = tempfile::tempdir().expect("a folder");
    write_tiny(folder.path());
    let recognizer = NamePipeline::recognizer(folder.path(), false).expect("a recognizer");
    assert_eq!(recognizer.kind(), RecognizerKind::Statistical);
    assert!(recognizer.digest().starts_with("rust-bert "));
}

#[test]
fn a_text_longer_than_a_window_is_read_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let (torch, _) = models(folder.path());
    let text = TEXTS[0].repeat(40);
    let names = torch.tag(&text).expect("names");
    assert!(
        names.last().is_some_and(|name| name.span.end > text.len() - TEXTS[0].len()),
        "{names:?}"
    );
    assert!(names.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    assert_eq!(torch.tag("").expect("names"), []);
}

#[test]
fn a_folder_that_is_no_model_is_refused_with_a_hint() {
    for file in ["config.json", "vocab.txt", "model.safetensors"] {
        for bytes in [None, Some(b"{}")] {
            let folder = tempfile::tempdir().expect("a folder");
            write_tiny(folder.path());
            let path = folder.path().join(file);
            std::fs::remove_file(&path).expect("removed");
            bytes.into_iter().for_each(|bytes| std::fs::write(&path, bytes).expect("written"));
            let error =
                NamePipeline::open(folder.path(), false).err().expect("a refusal").to_string();
            assert!(error.contains("\nhint: "), "{file}: {error}");
        }
    }
}
