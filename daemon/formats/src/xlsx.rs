//! XLSX: workbooks of Excel and of programs that write its format.
//!
//! In: the bytes of a file. Out: its sheets, hidden ones too, each as a section with one table. Cells have the values
//! that a person sees: dates in ISO format, percentages, amounts with their currency, results of formulas.
//! Invariants: nothing is unpacked beyond what [`Package`](crate::docx::Package) allows; a damaged sheet is read up to
//! the damage, with a warning.

mod value;

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{DataRef, Reader, SheetType, Xlsx as Workbook, XlsxError};

use super::docx::{open_package, read_properties};
use super::format::{Format, FormatLimits};
use super::sheet::Sheets;
use model::document::Parsed;
use model::terms::SpanMap;

type Book<'a> = Workbook<Cursor<&'a [u8]>>;

/// Reads workbooks.
pub(crate) struct Xlsx;

impl Format<[u8]> for Xlsx {
    fn read(&self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        let package = open_package(source, limits)?;
        package.check_sizes()?;
        // The library may panic on a file that nobody tried before; treat it as damaged and go on.
        let read = catch_unwind(AssertUnwindSafe(|| read(source, limits)));
        let mut parsed =
            read.unwrap_or_else(|_| Err("the reader failed on it".to_string())).map_err(|why| {
                format!("damaged: no workbook that can be read: {why}; hint: save it anew")
            })?;
        read_properties(&package, &mut parsed)?;
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        Ok(parsed)
    }
}

fn read(source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
    let mut book = Book::new(Cursor::new(source)).map_err(|error| error.to_string())?;
    let listed = book.sheets_metadata().to_vec();
    let mut sheets = Sheets::new(limits);
    let mut troubles = Troubles::default();
    for sheet in listed.iter().filter(|sheet| sheet.typ == SheetType::WorkSheet) {
        sheets.begin(&sheet.name);
        if let Err(why) = read_sheet(&mut book, &sheet.name, &mut sheets, &mut troubles) {
            troubles.warnings.push(format!(
                "sheet `{}` is damaged, what follows in it is not indexed: {why}",
                sheet.name
            ));
        }
    }
    let mut parsed = sheets.write(limits);
    parsed.warnings.extend(troubles.warnings());
    Ok(parsed)
}

/// What could not be read.
#[derive(Default)]
struct Troubles {
    warnings: Vec<String>,
    n_unreadable: usize,
    n_uncomputed: usize,
}

impl Troubles {
    fn warnings(mut self) -> Vec<String> {
        if self.n_unreadable > 0 {
            self.warnings.push(format!("{} cells could not be read", self.n_unreadable));
        }
        if self.n_uncomputed > 0 {
            self.warnings.push(format!(
                "{} cells have a formula without a result; hint: open and save it in a spreadsheet program",
                self.n_uncomputed
            ));
        }
        self.warnings
    }
}

fn read_sheet(
    book: &mut Book<'_>,
    name: &str,
    sheets: &mut Sheets,
    troubles: &mut Troubles,
) -> Result<(), XlsxError> {
    let mut cells = book.worksheet_cells_reader(name)?;
    let mut has_empty = false;
    loop {
        let (cell, style) = match cells.next_cell_with_style_id() {
            Ok(Some(it)) => it,
            Ok(None) => break,
            Err(error) if is_lasting(&error) => return Err(error),
            // One cell is wrong; the next ones may not be.
            Err(_) => {
                troubles.n_unreadable += 1;
                continue;
            }
        };
        has_empty |= *cell.get_value() == DataRef::Empty;
        let format = cells.styles().get(style).and_then(|style| style.number_format.as_ref());
        let code = format.map_or("", |format| &format.format_code);
        sheets.cell(cell.get_position(), &value::shown(cell.get_value(), code), 0..0);
    }
    drop(cells);
    for area in book.merge_cells_by_sheet_name(name)? {
        sheets.merge(area.start, area.end);
    }
    // Most cells without a value are only formatted, so formulas are looked for where there are any.
    if has_empty {
        let mut cells = book.worksheet_cells_reader(name)?;
        while let Ok(Some(cell)) = cells.next_cell_with_formula_metadata() {
            let is_uncomputed = cell.formula.is_some() && cell.value == DataRef::Empty;
            troubles.n_uncomputed += usize::from(is_uncomputed);
        }
    }
    Ok(())
}

/// True for an error of the container or of the XML, after which there is nothing to read.
fn is_lasting(error: &XlsxError) -> bool {
    matches!(error, XlsxError::Io(_) | XlsxError::Zip(_) | XlsxError::Xml(_) | XlsxError::XmlEof(_))
}

#[cfg(test)]
mod tests;
