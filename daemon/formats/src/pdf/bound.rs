//! Bounds: limits how much may be unpacked from a file.
//!
//! In: streams as stored in the file. Out: their content, or nothing if it would exceed the limit.
//! Invariant: no stream that passes unpacks to more than [`MAX_STREAM_BYTES`].

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use hayro_syntax::Filter;
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Stream};
use memchr::memmem;

/// Most bytes that one stream may unpack to. A page of text has some 10,000; maps and drawings have millions.
pub(super) const MAX_STREAM_BYTES: usize = 64 << 20;
/// Largest compression ratio of each filter.
const MAX_FLATE_RATIO: usize = 1_032;
const MAX_LZW_RATIO: usize = 2_800;
/// Two bytes encode a run of up to 128.
const MAX_RUN_RATIO: usize = 64;
/// Keys under which a font keeps its program.
const FONT_FILES: [&[u8]; 3] = [keys::FONT_FILE, keys::FONT_FILE2, keys::FONT_FILE3];

/// Widest row that a predictor may have, in bytes. Wide rows are for images; tables have a few bytes per row.
const MAX_ROW_BYTES: u64 = 1 << 20;

/// Returns the content of a stream; `None` if it is damaged or too large.
pub(super) fn content<'a>(stream: &Stream<'a>) -> Option<Cow<'a, [u8]>> {
    // The usual case, unpacked here up to the limit.
    if let [Filter::FlateDecode] = stream.filters().as_slice()
        && stream.dict().get::<Dict<'_>>(keys::DECODE_PARMS).is_none()
    {
        let raw = stream.raw_data();
        let (out, is_whole) = inflate(&raw);
        // A damaged stream still shows what came before the damage.
        if !out.is_empty() || is_whole {
            return Some(Cow::Owned(out));
        }
    }
    is_bounded(stream).then(|| stream.decoded_data().ok()).flatten()
}

/// Unpacks up to the limit; the second value is false if there was an error.
fn inflate(raw: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(raw.len().saturating_mul(4).min(MAX_STREAM_BYTES));
    let mut decoder = ZlibDecoder::new(raw).take(MAX_STREAM_BYTES as u64);
    let is_whole = decoder.read_to_end(&mut out).is_ok();
    (out, is_whole)
}

/// True if a stream cannot become longer than allowed.
fn is_bounded(stream: &Stream<'_>) -> bool {
    if !has_sane_rows(stream.dict()) {
        return false;
    }
    let n_raw = stream.raw_data().len();
    let filters = stream.filters();
    let worst = filters.iter().fold(n_raw, |n, filter| {
        n.saturating_mul(match filter {
            Filter::FlateDecode => MAX_FLATE_RATIO,
            Filter::LzwDecode => MAX_LZW_RATIO,
            Filter::RunLengthDecode => MAX_RUN_RATIO,
            _ => 4,
        })
    });
    // The worst case is far above what real streams reach, so unpack once to see.
    worst <= MAX_STREAM_BYTES
        || filters.as_slice() == [Filter::FlateDecode] && fits(&stream.raw_data(), MAX_STREAM_BYTES)
}

/// False if the rows of a predictor are wider than any real ones.
fn has_sane_rows(dict: &Dict<'_>) -> bool {
    let one = dict.get::<Dict<'_>>(keys::DECODE_PARMS);
    let many = dict.get::<Array<'_>>(keys::DECODE_PARMS);
    let many = many.iter().flat_map(|many| many.iter::<Dict<'_>>());
    one.into_iter().chain(many).all(|dict| {
        let number = |key: &[u8]| dict.get::<u32>(key).map_or(1, u64::from);
        let [columns, colors, bits] =
            [keys::COLUMNS, keys::COLORS, keys::BITS_PER_COMPONENT].map(number);
        columns.saturating_mul(colors).saturating_mul(bits) / 8 <= MAX_ROW_BYTES
    })
}

/// True if `raw` unpacks to less than `max_bytes`; the content is not kept.
fn fits(raw: &[u8], max_bytes: usize) -> bool {
    unpacked_bytes(raw, max_bytes) < max_bytes
}

fn unpacked_bytes(raw: &[u8], max_bytes: usize) -> usize {
    let mut decoder = ZlibDecoder::new(raw).take(max_bytes as u64);
    // On an error, what came out so far is what a reader would get.
    let _ = std::io::copy(&mut decoder, &mut std::io::sink());
    max_bytes - usize::try_from(decoder.limit()).unwrap_or(0).min(max_bytes)
}

/// Returns `None` if a font's program or one of its character tables is too large.
pub(super) fn check_font(dict: &Dict<'_>, descriptor: Option<&Dict<'_>>) -> Option<()> {
    // A composite font keeps its table of glyphs in its descendant.
    let inner =
        dict.get::<Array<'_>>(keys::DESCENDANT_FONTS).and_then(|a| a.iter::<Dict<'_>>().next());
    let streams = FONT_FILES.iter().filter_map(|key| descriptor?.get::<Stream<'_>>(*key));
    let tables = [dict.get::<Stream<'_>>(keys::TO_UNICODE), dict.get::<Stream<'_>>(keys::ENCODING)];
    let map = inner.and_then(|inner| inner.get::<Stream<'_>>(keys::CID_TO_GID_MAP));
    streams
        .chain(tables.into_iter().flatten())
        .chain(map)
        .all(|stream| is_bounded(&stream))
        .then_some(())
}

/// False if the packed object tables of a file are too large. The library unpacks them when it opens the file, so
/// this must be checked before, without a parser.
pub(super) fn tables_fit(bytes: &[u8]) -> bool {
    let mut n_left = 4 * MAX_STREAM_BYTES;
    for kind in ["ObjStm", "XRef"] {
        let mut done = 0;
        // Inside the last stream: packed bytes can contain the word by chance.
        for at in memmem::find_iter(bytes, kind.as_bytes()) {
            if at < done {
                continue;
            }
            let rest = bytes.get(at..).unwrap_or(&[]);
            // The dictionary with the name comes shortly before its stream.
            let Some(start) = memmem::find(rest.get(..4_096).unwrap_or(rest), b"stream") else {
                continue;
            };
            let packed = rest.get(start + "stream".len()..).unwrap_or(&[]);
            let packed = packed.trim_ascii_start();
            let n_packed = memmem::find(packed, b"endstream").unwrap_or(packed.len());
            let packed = packed.get(..n_packed).unwrap_or(packed);
            done = at + start + n_packed;
            // A smaller stream unpacks to at most 4 MiB, even at the best ratio.
            if packed.len().saturating_mul(MAX_FLATE_RATIO) > MAX_STREAM_BYTES / 16 {
                let n_unpacked = unpacked_bytes(packed, n_left);
                if n_unpacked >= n_left {
                    return false;
                }
                n_left -= n_unpacked;
            }
        }
    }
    true
}
