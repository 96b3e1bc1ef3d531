//! Pictures with text: the data of charts and the words of diagrams (SmartArt).
//!
//! In: the part that a drawing refers to. Out: nodes, as if the document had a table or paragraphs.
//! Invariant: at most a bounded number of a chart's cells is read.

use std::collections::BTreeMap;

use super::body::Body;
use super::model::{CellShape, Marks, Node, Paragraph, Piece, RowShape, TableShape};
use super::xml::{Space, Tag, Token, Xml};

/// Most values of a chart that are read; larger charts are measurements, not statements.
const MAX_POINTS: usize = 1_000;
/// Longest text of one point, in bytes.
const MAX_POINT_BYTES: usize = 300;
/// Most pictures of one document that are read.
const MAX_PICTURES: usize = 200;

/// The content of a chart.
#[derive(Default)]
struct Chart {
    title: String,
    series: Vec<Series>,
    n_points: usize,
}

#[derive(Default)]
struct Series {
    name: String,
    /// By the index of the point.
    categories: BTreeMap<u32, String>,
    values: BTreeMap<u32, String>,
}

/// The kind of text that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChartPart {
    Name,
    Category,
    Value,
}

impl Body<'_> {
    /// Reads the part that a drawing refers to; its text follows the paragraph of the drawing.
    pub(super) fn picture(&mut self, tag: &Tag<'_>) {
        // Charts refer to their part by `r:id`, diagrams to their data model by `r:dm`.
        let attribute = if tag.space == Space::Chart { "id" } else { "dm" };
        let Some(id) = tag.attr(attribute) else { return };
        let Some(relationship) = self.means.relationships.get(&*id).filter(|to| !to.is_external)
        else {
            return;
        };
        self.n_pictures += 1;
        if self.n_pictures > MAX_PICTURES {
            return;
        }
        // A picture that cannot be read is skipped.
        let Ok(Some(text)) = self.means.package.part(&relationship.target) else { return };
        if self.begin_box().is_none() {
            return;
        }
        match tag.space {
            Space::Chart => self.chart(&read_chart(&text)),
            _ => words_of(&text).iter().for_each(|words| self.line(words)),
        }
        self.end_box();
    }

    fn line(&mut self, text: &str) {
        let start = self.content.text.len();
        self.content.text.push_str(text.trim());
        let line_end = self.content.text.len();
        self.content.text.push('\n');
        if line_end > start {
            let pieces = vec![Piece::Text { range: start..line_end, marks: Marks::default() }];
            self.push_node(Node::Paragraph(Paragraph { pieces, line_end, ..Paragraph::default() }));
        }
    }

    /// Writes a row for each category and a column for each series.
    fn chart(&mut self, chart: &Chart) {
        self.line(&chart.title);
        let Some(first) = chart.series.first() else { return };
        let shape = TableShape { has_header: true, is_layout: false };
        self.push_node(Node::TableStart(shape));
        let names = chart.series.iter().map(|series| series.name.as_str());
        self.chart_row(true, std::iter::once("").chain(names));
        // A series may lack some points; a row exists if any series has a value.
        let rows: Vec<u32> = chart.series.iter().flat_map(|s| s.values.keys().copied()).collect();
        let rows: std::collections::BTreeSet<u32> = rows.into_iter().collect();
        for row in rows {
            // All series of a chart share their categories.
            let category = first.categories.get(&row).map_or("", String::as_str);
            let values = chart.series.iter().map(|s| s.values.get(&row).map_or("", String::as_str));
            self.chart_row(false, std::iter::once(category).chain(values));
        }
        self.push_node(Node::TableEnd);
    }

    fn chart_row<'a>(&mut self, is_header: bool, cells: impl Iterator<Item = &'a str>) {
        self.push_node(Node::RowStart(RowShape { is_header, ..RowShape::default() }));
        for cell in cells {
            self.push_node(Node::CellStart(CellShape::default()));
            self.line(cell);
            self.push_node(Node::CellEnd);
        }
        self.push_node(Node::RowEnd);
    }
}

fn read_chart(text: &str) -> Chart {
    let mut chart = Chart::default();
    let mut xml = Xml::new(text);
    let (mut part, mut index, mut is_text) = (None, 0, false);
    let (mut depth, mut in_title, mut in_series) = (0_usize, 0_usize, 0_usize);
    while let Some(token) = xml.next() {
        match token {
            Token::Open(tag) => {
                depth += 1;
                is_text = false;
                match (tag.space, tag.local()) {
                    // The chart's own title comes before its series; axes have titles too.
                    (Space::Chart, "title") if chart.series.is_empty() && in_title == 0 => {
                        in_title = depth;
                    }
                    (Space::Chart, "ser") => {
                        chart.series.push(Series::default());
                        in_series = depth;
                    }
                    (Space::Chart, "tx") => part = Some(ChartPart::Name),
                    (Space::Chart, "cat" | "xVal") => part = Some(ChartPart::Category),
                    (Space::Chart, "val" | "yVal") => part = Some(ChartPart::Value),
                    (Space::Chart, "pt") => index = tag.number("idx").unwrap_or(0),
                    (Space::Chart, "v") | (Space::Drawing, "t") => is_text = true,
                    _ => {}
                }
            }
            Token::Close => {
                is_text = false;
                if in_title == depth {
                    in_title = 0;
                }
                if in_series == depth {
                    in_series = 0;
                }
                depth = depth.saturating_sub(1);
            }
            Token::Text(text) if is_text && in_title > 0 => push_some(&mut chart.title, &text),
            // Titles of axes follow the series and belong to none.
            Token::Text(text) if is_text && in_series > 0 => chart.take(part, index, &text),
            Token::Text(_) => {}
        }
    }
    chart
}

impl Chart {
    fn take(&mut self, part: Option<ChartPart>, index: u32, text: &str) {
        let (Some(part), Some(series)) = (part, self.series.last_mut()) else { return };
        if self.n_points >= MAX_POINTS {
            return;
        }
        self.n_points += usize::from(part == ChartPart::Value);
        let into = match part {
            ChartPart::Name => &mut series.name,
            ChartPart::Category => series.categories.entry(index).or_default(),
            ChartPart::Value => series.values.entry(index).or_default(),
        };
        push_some(into, &shortened(text));
    }
}

fn push_some(into: &mut String, text: &str) {
    if into.len() + text.len() <= MAX_POINT_BYTES {
        into.push_str(text);
    }
}

/// Shortens a number that a program wrote: `4.4000000000000004` becomes `4.4`.
fn shortened(text: &str) -> String {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && text.len() > 8 => {
            let rounded = format!("{number:.6}");
            rounded.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        _ => text.to_string(),
    }
}

/// Returns the words of a diagram, one text for each paragraph.
fn words_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut xml = Xml::new(text);
    let (mut is_text, mut words) = (false, String::new());
    while let Some(token) = xml.next() {
        match token {
            Token::Open(tag) => {
                is_text = tag.space == Space::Drawing && tag.local() == "t";
                if tag.space == Space::Drawing && tag.local() == "p" && !words.is_empty() {
                    found.push(std::mem::take(&mut words));
                }
            }
            Token::Close => is_text = false,
            Token::Text(text) if is_text => words.push_str(&text),
            Token::Text(_) => {}
        }
    }
    found.push(words);
    found
}
