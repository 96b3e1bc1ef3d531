//! Formats: files of eight formats that contain a planted text the way such files contain text.
//!
//! In: a body. Out: the bytes of a file; `None` if these tests cannot write it in that format (the
//! PDF has only ASCII letters).

use super::Body;
use crate::papers;

/// The formats, by extension.
pub const FORMATS: [&str; 8] = ["md", "html", "pdf", "docx", "yaml", "ipynb", "txt", "eml"];

const INTRO: &str = "Runbook of the harbor service. We rotate it in spring.";
const OUTRO: &str = "After words.";

/// Longest line of a page, characters: a line of so many capitals still fits.
const PAGE_CHARS: usize = 60;

/// Returns the bytes of a file that contains a body.
pub fn file(format: &str, body: &Body) -> Option<Vec<u8>> {
    let text = lines_of(body);
    Some(match format {
        "md" => format!("# Plant\n\n{INTRO}\n\n{text}\n\n{OUTRO}\n").into_bytes(),
        "txt" => format!("{INTRO}\n\n{text}\n\n{OUTRO}\n").into_bytes(),
        "eml" => eml(&text),
        "html" => html(body).into_bytes(),
        "yaml" => yaml(&text).into_bytes(),
        "ipynb" => notebook(&text).into_bytes(),
        "docx" => docx(body),
        "pdf" => return pdf(&text),
        _ => return None,
    })
}

/// Returns a body as text; tables in Markdown.
fn lines_of(body: &Body) -> String {
    match body {
        Body::Lines(text) => text.clone(),
        Body::Table(rows) => {
            let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
            let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
            let rule = vec!["---".to_string(); rows[0].len()];
            lines.insert(1, line(&rule));
            lines.join("\n")
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn html(body: &Body) -> String {
    let inner = match body {
        Body::Lines(text) => format!("<pre>{}</pre>", escaped(text)),
        Body::Table(rows) => {
            let row = |(i, cells): (usize, &Vec<String>)| {
                let tag = if i == 0 { "th" } else { "td" };
                let cells: String =
                    cells.iter().map(|it| format!("<{tag}>{}</{tag}>", escaped(it))).collect();
                format!("<tr>{cells}</tr>")
            };
            format!("<table>{}</table>", rows.iter().enumerate().map(row).collect::<String>())
        }
    };
    format!(
        "<html><body><h1>Plant</h1><p>{INTRO}</p>{inner}<p>After <b>words</b> and more.</p></body></html>"
    )
}

fn docx(body: &Body) -> Vec<u8> {
    let run =
        |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{}</w:t></w:r>", escaped(text));
    let paragraph = |text: &str| {
        // Word splits a line into runs wherever the writer paused.
        let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        format!("<w:p>{}{}</w:p>", run(&text[..middle]), run(&text[middle..]))
    };
    let inner: String = match body {
        Body::Lines(text) => text.lines().map(paragraph).collect(),
        Body::Table(rows) => {
            let row = |cells: &Vec<String>| {
                let cells: String =
                    cells.iter().map(|it| format!("<w:tc>{}</w:tc>", paragraph(it))).collect();
                format!("<w:tr>{cells}</w:tr>")
            };
            format!("<w:tbl>{}</w:tbl>", rows.iter().map(row).collect::<String>())
        }
    };
    papers::word(&format!("{}{inner}{}", paragraph(INTRO), paragraph(OUTRO)))
}

fn pdf(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let escaped = |line: &str| line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
    let mut lines = vec![INTRO.to_string()];
    for line in text.lines() {
        let letters: Vec<char> = line.chars().collect();
        lines.extend(
            letters.chunks(PAGE_CHARS).map(|part| escaped(&part.iter().collect::<String>())),
        );
    }
    lines.push(OUTRO.to_string());
    let pages: Vec<Vec<&str>> =
        lines.chunks(45).map(|page| page.iter().map(String::as_str).collect()).collect();
    let pages: Vec<&[&str]> = pages.iter().map(Vec::as_slice).collect();
    Some(papers::paged(&pages))
}

fn yaml(text: &str) -> String {
    let block: String = text.lines().map(|line| format!("  {line}\n")).collect();
    format!("# {INTRO}\nkind: plant\nvalue: |\n{block}")
}

fn notebook(text: &str) -> String {
    let value = serde_json::json!({
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": [format!("{INTRO}\n"), "\n", text]},
            {
                "cell_type": "code", "metadata": {},
                "outputs": [{"output_type": "stream", "name": "stdout", "text": [text]}],
                "source": [format!("x = {}", serde_json::json!(text))],
            },
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    });
    value.to_string()
}

fn eml(text: &str) -> Vec<u8> {
    format!(
        "From: a@b.example\nTo: c@d.example\nSubject: Plant\nMIME-Version: 1.0\nContent-Type: text/plain; \
         charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{INTRO}\n\n{text}\n\n{OUTRO}\n"
    )
    .into_bytes()
}
