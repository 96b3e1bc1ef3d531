#!/usr/bin/env python3
"""Writes the hostile documents of corpus/hostile/docx; run at the root of the repository."""
import zipfile, os, struct
W='http://schemas.openxmlformats.org/wordprocessingml/2006/main'
M='http://schemas.openxmlformats.org/officeDocument/2006/math'
out='corpus/hostile/docx/'
TOP='<Relationships><Relationship Id="a" Type="/officeDocument" Target="word/document.xml"/></Relationships>'
REL='<Relationships><Relationship Id="s" Type="/styles" Target="styles.xml"/><Relationship Id="n" Type="/numbering" Target="numbering.xml"/><Relationship Id="f" Type="/footnotes" Target="footnotes.xml"/></Relationships>'
def doc(name, body, extra=(), raw=False):
    with zipfile.ZipFile(out+name,'w',zipfile.ZIP_DEFLATED,compresslevel=9) as z:
        def add(n,d): z.writestr(zipfile.ZipInfo(n,(2026,1,1,0,0,0)),d,zipfile.ZIP_DEFLATED,9)
        add('_rels/.rels',TOP); add('word/_rels/document.xml.rels',REL)
        add('word/document.xml', body if raw else f'<w:document xmlns:w="{W}" xmlns:m="{M}"><w:body>{body}</w:body></w:document>')
        for n,d in extra: add(n,d)
P='<w:p><w:r><w:t>Still here.</w:t></w:r></w:p>'
N=100000
doc('nested-tags.docx', P+'<w:r>'*10*N)
doc('nested-tables.docx', P+'<w:tbl><w:tr><w:tc>'*N+'x')
doc('nested-boxes.docx', P+'<w:p><w:r><w:txbxContent>'*N)
doc('nested-equations.docx', P+'<w:p><m:oMath>'+'<m:d><m:e>'*N+'<m:t>x</m:t>')
doc('nested-changes.docx', P+'<w:del>'*N+'</w:del>'*N+P)
doc('wide-cells.docx', P+'<w:tbl><w:tr>'+'<w:tc><w:tcPr><w:gridSpan w:val="4294967295"/><w:vMerge/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc>'*5000+'</w:tr></w:tbl>')
doc('many-attributes.docx', P+'<w:p '+' '.join(f'a{i}="{i}"' for i in range(20000))+'/>')
doc('many-prefixes.docx', P+''.join(f'<n{i}:p xmlns:n{i}="{W}">' for i in range(20000)))
doc('open-fields.docx', P+'<w:p>'+'<w:r><w:fldChar w:fldCharType="begin"/></w:r>'*N+'</w:p>'+P)
doc('inflated.docx', '<w:p><w:r><w:t>'+' '*(120<<20)+'</w:t></w:r></w:p>')
doc('inflated-styles.docx', P, [('word/styles.xml',' '*(120<<20))])
doc('entities.docx', '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">'+''.join(f'<!ENTITY a{i} "{f"&a{i-1};"*10 if i else "&a;"*10}">' for i in range(9))+f']><w:document xmlns:w="{W}"><w:body>{P}<w:p><w:r><w:t>&a8;&a8;</w:t></w:r></w:p></w:body></w:document>', raw=True)
loop=''.join(f'<w:style w:styleId="s{i}"><w:name w:val="S{i}"/><w:basedOn w:val="s{(i+1)%3000}"/></w:style>' for i in range(3000))
doc('style-loop.docx','<w:p><w:pPr><w:pStyle w:val="s0"/></w:pPr><w:r><w:t>Round and round.</w:t></w:r></w:p>',[('word/styles.xml',f'<w:styles xmlns:w="{W}">{loop}</w:styles>')])
num=f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="4294967295"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="{"%1"*5000}"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
doc('long-labels.docx','<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>'*2000,[('word/numbering.xml',num)])
note=f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="1"><w:p><w:r><w:t>note</w:t><w:footnoteReference w:id="1"/></w:r></w:p></w:footnote></w:footnotes>'
doc('note-loop.docx','<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'*2000,[('word/footnotes.xml',note)])
b=open(out+'nested-tables.docx','rb').read(); open(out+'cut-off.docx','wb').write(b[:len(b)*2//3])
OLE=bytes.fromhex('d0cf11e0a1b11ae1')+b'\0'*504
open(out+'encrypted.docx','wb').write(OLE+'EncryptedPackage'.encode('utf-16le')+b'\0'*64)
open(out+'old-binary.docx','wb').write(OLE+'WordDocument'.encode('utf-16le')+b'\0'*64)
# Sizes that lie: a stored part that states 4 GB.
with zipfile.ZipFile(out+'lying-sizes.docx','w') as z: z.writestr(zipfile.ZipInfo('word/document.xml',(2026,1,1,0,0,0)),f'<w:document xmlns:w="{W}"><w:body>{P}</w:body></w:document>')
d=bytearray(open(out+'lying-sizes.docx','rb').read()); i=d.rfind(b'PK\x01\x02'); d[i+24:i+28]=b'\xff\xff\xff\x7f'; open(out+'lying-sizes.docx','wb').write(d)
open(out+'body.xml','w').write('<w:body><w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:r><w:rPr><w:b/></w:rPr><w:t>Text</w:t><w:br/><w:sym w:font="Symbol" w:char="F061"/></w:r></w:p><w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge w:val="restart"/></w:tcPr><w:p/></w:tc></w:tr></w:tbl><w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den/></m:f></m:oMath></w:p><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent/></w:sdt><mc:AlternateContent><mc:Choice/><mc:Fallback/></mc:AlternateContent></w:body>')
open(out+'styles.seed','w').write('s<w:style w:default="1" w:styleId="a"><w:name w:val="heading 1"/><w:basedOn w:val="b"/><w:pPr><w:outlineLvl w:val="1"/><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:rPr><w:rFonts w:ascii="Consolas"/></w:rPr></w:style>')
open(out+'numbering.seed','w').write('n<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="1"><w:startOverride w:val="3"/></w:lvlOverride></w:num>')
open(out+'chart.seed','w').write('c<c:title><a:t>T</a:t></c:title><c:ser><c:tx><c:v>S</c:v></c:tx><c:cat><c:pt idx="0"><c:v>A</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>4.40000000000004</c:v></c:pt></c:val></c:ser>')
