#!/usr/bin/env python3
"""Writes the hostile PDF files of `corpus/hostile/pdf`: each is small, and asks for more than a reader may give.

usage: python3 tests/formats/pdf/hostile.py corpus/hostile/pdf
"""
import os
import sys
import zlib

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
TEXT = b"BT /F1 12 Tf 50 700 Td (Text.) Tj ET"


def stream(content, entries=""):
    return b"<< /Length %d %s >>\nstream\n" % (len(content), entries.encode()) + content + b"\nendstream"


def pdf(objects, trailer="", xref=True, root="1 0 R"):
    """A file of numbered objects; number 1 is the catalog."""
    out = b"%PDF-1.7\n"
    places = {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        body = body if isinstance(body, bytes) else body.encode()
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    size = max(objects) + 1
    if xref:
        out += b"xref\n0 %d\n0000000000 65535 f \n" % size
        for number in range(1, size):
            out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    out += f"trailer\n<< /Size {size} /Root {root} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return out


def document(content=TEXT, entries="", page="", more=None, resources="", catalog="", trailer=""):
    """One page with one stream; objects of one's own from number 10 on."""
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R {page} "
        f"/Resources << /Font << /F1 5 0 R /F2 10 0 R >> {resources} >> >>",
        4: stream(content, entries),
        5: FONT,
    }
    objects.update(more or {})
    return pdf(objects, trailer)


def bomb(n_mb, byte=b" "):
    return zlib.compress(byte * (n_mb << 20), 9)


def files():
    yield "page_tree_loop", pdf({
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000000 >>",
        3: "<< /Type /Pages /Kids [2 0 R 3 0 R 4 0 R] >>",
        4: "<< /Type /Page /MediaBox [0 0 9 9] >>",
    })
    deep = {1: "<< /Type /Catalog /Pages 2 0 R >>"}
    for number in range(2, 400):
        deep[number] = f"<< /Type /Pages /Kids [{number + 1} 0 R {number + 1} 0 R] >>"
    deep[400] = "<< /Type /Page /MediaBox [0 0 9 9] >>"
    yield "page_tree_deep", pdf(deep)
    yield "flate_bomb", document(bomb(80), "/Filter /FlateDecode")
    yield "flate_bomb_twice", document(zlib.compress(bomb(400), 9), "/Filter [/FlateDecode /FlateDecode]")
    yield "flate_bomb_font", document(TEXT.replace(b"F1", b"F2"), more={
        10: "<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor 11 0 R /ToUnicode 13 0 R >>",
        11: "<< /Type /FontDescriptor /FontFile2 12 0 R >>",
        12: stream(bomb(80, b"\0"), "/Filter /FlateDecode"),
        13: stream(bomb(80), "/Filter /FlateDecode"),
    })
    yield "flate_bomb_objects", document(more={10: stream(bomb(300), "/Type /ObjStm /N 9 /First 9 /Filter /FlateDecode")})
    yield "lzw", document(b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01", "/Filter /LZWDecode")
    yield "run_length", document(b"\x81 " * 5000 + b"\x80", "/Filter [/RunLengthDecode /RunLengthDecode]")
    yield "predictor", document(zlib.compress(TEXT), "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 2147483647 /Colors 99 >>")
    yield "deep_arrays", document(b"[" * 6000 + TEXT, more={10: "[" * 6000}, catalog="/Lang " + "[" * 6000)
    yield "deep_dictionaries", document(b"/T " + b"<</A " * 6000 + b" BDC " + TEXT)
    yield "deep_saves", document(b"q " * 6000 + TEXT + b" Q" * 9000)
    yield "marked_content", document(b"/Span <</ActualText (x)>> BDC " * 3000 + TEXT + b" EMC" * 4000)
    yield "form_loop", document(b"/A Do", resources="/XObject << /A 10 0 R >>", more={
        10: stream(b"/A Do /A Do " + TEXT, "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> /XObject << /A 10 0 R >> >>"),
    })
    yield "length_loop", pdf({
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [3 0 R] >>",
        3: "<< /Type /Page /Contents 4 0 R /MediaBox 3 0 R >>",
        4: b"<< /Length 4 0 R >>\nstream\n" + TEXT + b"\nendstream",
    })
    yield "outline_loop", document(catalog="/Outlines 10 0 R", more={
        10: "<< /First 11 0 R >>",
        11: "<< /Title (A) /Next 12 0 R /First 11 0 R >>",
        12: "<< /Title (B) /Next 11 0 R /First 10 0 R >>",
    })
    yield "annotations", document(page="/Annots [" + "<< /Subtype /Link /Rect [0 0 600 800] /A << /URI (http://a.example) >> >> " * 800 + "]")
    yield "character_map", document(TEXT.replace(b"F1", b"F2"), more={
        10: "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 12 0 R /DescendantFonts [11 0 R] /ToUnicode 13 0 R >>",
        11: "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 1e30 /W [0 4294967295 500 1 [2 3 4]] >>",
        12: stream(b"/X usecmap 1 begincodespacerange <00> <ffffffff> endcodespacerange 1 begincidrange <00000000> <ffffffff> 0 endcidrange"),
        13: stream(b"1 begincodespacerange <00> <ffffffff> endcodespacerange 1 beginbfrange <00000000> <ffffffff> <d83ddc00> endbfrange"),
    })
    yield "numbers", document(b"BT /F1 1e38 Tf 1e38 1e38 -1e38 1e38 1e38 1e38 Tm (a) Tj 0 Tz 99999999999999999999 Tc (b) Tj /F1 -12 Tf 1 0 0 1 9 9 Tm (c) Tj ET", page="/MediaBox [1e38 -1e38 -1e38 1e38] /Rotate 90")
    yield "one_place", document(b"BT /F1 12 Tf " + b"1 0 0 1 50 700 Tm (abc def ghi) Tj " * 2000 + b"ET")
    yield "stairs", document(b"BT /F1 9 Tf 0 0.3 TD " + b"0.5 0.37 Td (a b) Tj " * 2000 + b"ET")
    yield "many_strings", document(b"BT /F1 9 Tf [" + b"(a) -9999 " * 5000 + b"] TJ ET")
    yield "inline_images", document(b"BI /W 1 /H 1 ID EI EIEI BI EI " * 500 + TEXT)
    yield "type3", document(TEXT.replace(b"F1", b"F2"), more={
        10: "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 0 0] /FontMatrix [0 0 0 0 0 0] /FirstChar -9 /LastChar 99999999 /Widths [1 2] /Encoding << /Differences [300 /a -1 /b /T 2] >> /CharProcs << /a 4 0 R >> >>",
    })
    yield "encrypted", document(trailer="/Encrypt << /Filter /Standard /V 5 /R 6 /P -4 /O (a) /U (b) /OE (c) /UE (d) >> /ID [(a) (b)]")
    yield "metadata", document(trailer="/Info 10 0 R", catalog="/Metadata 11 0 R /Lang (\\377)", more={
        10: b"<< /Title <feffd83d> /Author <fffe0> /CreationDate (D:99999999) >>",
        11: stream(b"dc:title<dc:title><</dc:title>>"),
    })
    whole = document()
    yield "truncated_table", whole[: whole.rindex(b"xref\n0") + 60]
    yield "table_loop", whole.replace(b"/Size", b"/Prev %d /XRefStm %d /Size" % ((whole.rindex(b"xref\n0"),) * 2))
    yield "no_table", pdf({1: "<< /Type /Catalog /Pages 2 0 R >>", 2: "<< /Type /Pages /Kids [3 0 R] >>", 3: "<< /Type /Page /Contents 4 0 R >>", 4: stream(TEXT)}, xref=False)
    yield "table_stream", b"%PDF-1.5\n1 0 obj\n" + stream(zlib.compress(b"\1\0\0\0" * 9), "/Type /XRef /Size 2147483647 /W [1 2 1] /Index [0 2147483647] /Root 1 0 R /Filter /FlateDecode") + b"\nendobj\nstartxref\n9\n%%EOF"


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in files():
        with open(os.path.join(folder, name + ".pdf"), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    main(sys.argv[1])
