//! Sentence vectors: rust-bert against rten, on the same float weights and on the shipped int8.

mod support;

use embed::Embedder;
use support::minilm::{cosine, load, paragraphs};

#[test]
fn vectors_agree() {
    let models = load();
    // Every sixth, which takes seconds.
    let texts: Vec<String> = paragraphs().into_iter().step_by(6).collect();
    assert!(texts.len() >= 50, "{}", texts.len());
    let (mut floats, mut int8) = (Vec::new(), Vec::new());
    for text in &texts {
        let torch = models.torch.floats(text).expect("a vector");
        floats.push(cosine(&torch, &models.rten.embed(text).expect("a vector")));
        int8.push(cosine(&torch, &models.int8.embed(text).expect("a vector")));
    }
    let least = |cosines: &[f32]| cosines.iter().copied().fold(1.0, f32::min);
    let mean = |cosines: &[f32]| cosines.iter().sum::<f32>() / cosines.len() as f32;
    for (name, cosines) in [("rten, float32", &floats), ("rten, int8", &int8)] {
        println!(
            "rust-bert to {name}, {} paragraphs: cosine least {:.6}, mean {:.6}",
            cosines.len(),
            least(cosines),
            mean(cosines)
        );
    }
    assert!(least(&floats) > 0.999, "{}", least(&floats));
    assert!(least(&int8) >= 0.98, "{}", least(&int8));

    let vectors = models.torch.embed(&[texts[0].as_str(), texts[1].as_str(), texts[0].as_str()]);
    assert_eq!(models.torch.dimensions(), 384);
    assert_eq!(vectors[0], vectors[2], "a vector does not depend on its batch");
    assert_ne!(vectors[0], vectors[1]);
}
