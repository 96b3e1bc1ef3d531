//! Reads every Word document of a folder with one engine and writes its text.
//!
//! In: `ENGINE FOLDER OUT.jsonl [REPEAT]`. Out: a line `{"id", "text"}` a document, for the scorer; on standard
//! output the engine, its failures and the processor seconds of one reading of all files.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

type Outcome = Result<String, String>;
type Engine = fn(&[u8], &Path) -> Outcome;

const ENGINES: &[(&str, Engine)] = &[
    ("bare", bare),
    ("docx-rs", docx_rs_text),
    ("docx-rust", docx_rust_text),
    ("docx-lite", docx_lite_text),
    ("undoc", undoc_text),
    ("anytomd", anytomd_text),
];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder, out, repeat @ ..] = arguments.as_slice() else {
        return Err("usage: compare-docx ENGINE FOLDER OUT.jsonl [REPEAT]".to_string());
    };
    let engine = ENGINES.iter().find(|(known, _)| known == name).ok_or("unknown engine")?.1;
    let n_repeats: u32 = repeat.first().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map_err(|e| e.to_string())?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "docx"))
        .collect();
    paths.sort();
    let files: Vec<Vec<u8>> = paths.iter().map(|p| std::fs::read(p).unwrap_or_default()).collect();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut texts, mut failures) = (Vec::new(), Vec::new());
    let began = cpu_seconds();
    for round in 0..n_repeats {
        for (path, bytes) in paths.iter().zip(&files) {
            let outcome = catch_unwind(AssertUnwindSafe(|| engine(bytes, path)))
                .unwrap_or_else(|_| Err("panic".to_string()));
            if round > 0 {
                continue;
            }
            let id = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
            match outcome {
                Ok(text) => texts.push(serde_json::json!({"id": id, "text": text}).to_string()),
                Err(why) => failures.push(format!("{id}: {}", why.lines().next().unwrap_or(""))),
            }
        }
    }
    let seconds = (cpu_seconds() - began) / f64::from(n_repeats);
    let mut file = std::fs::File::create(out).map_err(|e| e.to_string())?;
    file.write_all((texts.join("\n") + "\n").as_bytes()).map_err(|e| e.to_string())?;
    println!("{name}\t{seconds:.4} CPU s\t{} failed {failures:?}", failures.len());
    Ok(())
}

/// Returns the user and system time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The least possible work: inflate the body, take the text of `w:t`, and end a line at each paragraph.
fn bare(bytes: &[u8], _: &Path) -> Outcome {
    let archive = rawzip::ZipArchive::from_slice(bytes).map_err(|e| e.to_string())?;
    let mut entries = HashMap::new();
    for entry in archive.entries().flatten() {
        entries.insert(entry.file_path().as_ref().to_vec(), entry.wayfinder());
    }
    let way = entries.get(&b"word/document.xml"[..]).ok_or("no body")?;
    let entry = archive.get_entry(*way).map_err(|e| e.to_string())?;
    let mut xml = Vec::new();
    flate2::read::DeflateDecoder::new(entry.data())
        .read_to_end(&mut xml)
        .map_err(|e| e.to_string())?;
    let mut reader = quick_xml::Reader::from_reader(xml.as_slice());
    let (mut text, mut is_shown) = (String::new(), false);
    loop {
        use quick_xml::events::Event;
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(tag) => is_shown = tag.name().into_inner() == "w:t",
            Event::Text(piece) if is_shown => text.push_str(&piece.into_inner()),
            Event::End(tag) if tag.name().into_inner() == "w:p" => text.push('\n'),
            Event::End(_) => is_shown = false,
            Event::Eof => return Ok(text),
            _ => {}
        }
    }
}

fn docx_lite_text(bytes: &[u8], path: &Path) -> Outcome {
    let _ = bytes;
    docx_lite::extract_text(path).map_err(|e| e.to_string())
}

fn docx_rust_text(bytes: &[u8], _: &Path) -> Outcome {
    let file =
        docx_rust::DocxFile::from_reader(Cursor::new(bytes)).map_err(|e| format!("{e:?}"))?;
    let docx = file.parse().map_err(|e| format!("{e:?}"))?;
    Ok(docx.document.body.text())
}

fn undoc_text(bytes: &[u8], _: &Path) -> Outcome {
    let document = undoc::parse_bytes(bytes).map_err(|e| e.to_string())?;
    undoc::render::to_text(&document, &undoc::render::RenderOptions::default())
        .map_err(|e| e.to_string())
}

fn anytomd_text(bytes: &[u8], _: &Path) -> Outcome {
    let options = anytomd::ConversionOptions::default();
    let converted = anytomd::convert_bytes(bytes, "docx", &options).map_err(|e| e.to_string())?;
    Ok(converted.plain_text)
}

fn docx_rs_text(bytes: &[u8], _: &Path) -> Outcome {
    let docx = docx_rs::read_docx(bytes).map_err(|e| format!("{e:?}"))?;
    let mut out = String::new();
    for child in &docx.document.children {
        match child {
            docx_rs::DocumentChild::Paragraph(paragraph) => docx_rs_paragraph(paragraph, &mut out),
            docx_rs::DocumentChild::Table(table) => docx_rs_table(table, &mut out),
            docx_rs::DocumentChild::StructuredDataTag(tag) => docx_rs_tag(tag, &mut out),
            _ => {}
        }
    }
    Ok(out)
}

fn docx_rs_paragraph(paragraph: &docx_rs::Paragraph, out: &mut String) {
    for child in &paragraph.children {
        match child {
            docx_rs::ParagraphChild::Run(run) => docx_rs_run(run, out),
            docx_rs::ParagraphChild::Insert(insert) => {
                for child in &insert.children {
                    if let docx_rs::InsertChild::Run(run) = child {
                        docx_rs_run(run, out);
                    }
                }
            }
            docx_rs::ParagraphChild::Hyperlink(link) => {
                for child in &link.children {
                    if let docx_rs::ParagraphChild::Run(run) = child {
                        docx_rs_run(run, out);
                    }
                }
            }
            docx_rs::ParagraphChild::StructuredDataTag(tag) => docx_rs_tag(tag, out),
            _ => {}
        }
    }
    out.push('\n');
}

fn docx_rs_run(run: &docx_rs::Run, out: &mut String) {
    for child in &run.children {
        match child {
            docx_rs::RunChild::Text(text) => out.push_str(&text.text),
            docx_rs::RunChild::Tab(_) | docx_rs::RunChild::Break(_) => out.push(' '),
            _ => {}
        }
    }
}

fn docx_rs_table(table: &docx_rs::Table, out: &mut String) {
    for docx_rs::TableChild::TableRow(row) in &table.rows {
        for docx_rs::TableRowChild::TableCell(cell) in &row.cells {
            for child in &cell.children {
                match child {
                    docx_rs::TableCellContent::Paragraph(p) => docx_rs_paragraph(p, out),
                    docx_rs::TableCellContent::Table(table) => docx_rs_table(table, out),
                    docx_rs::TableCellContent::StructuredDataTag(tag) => docx_rs_tag(tag, out),
                    _ => {}
                }
            }
        }
    }
}

fn docx_rs_tag(tag: &docx_rs::StructuredDataTag, out: &mut String) {
    for child in &tag.children {
        match child {
            docx_rs::StructuredDataTagChild::Run(run) => docx_rs_run(run, out),
            docx_rs::StructuredDataTagChild::Paragraph(p) => docx_rs_paragraph(p, out),
            docx_rs::StructuredDataTagChild::Table(table) => docx_rs_table(table, out),
            docx_rs::StructuredDataTagChild::StructuredDataTag(tag) => docx_rs_tag(tag, out),
            _ => {}
        }
    }
}
