#!/usr/bin/env python3
"""Reads every Word document of a folder with one peer outside Rust and writes its text.
peers.py ENGINE FOLDER OUT.jsonl; needs python-docx, docx2txt, mammoth, pypandoc_binary, docx2python. One reading a run."""
import json, os, re, resource, subprocess, sys


def python_docx(path):
    import docx
    document = docx.Document(path)
    out = []
    def block(parent):
        for item in parent.iter_inner_content():
            if hasattr(item, 'rows'):
                for row in item.rows:
                    for cell in row.cells: block(cell)
            else: out.append(item.text)
    block(document)
    return '\n'.join(out)


def docx2txt(path):
    import docx2txt
    return docx2txt.process(path)


def docx2python(path):
    from docx2python import docx2python as read
    with read(path) as document: return document.text


def mammoth(path):
    import mammoth
    return mammoth.extract_raw_text(open(path, 'rb')).value


def pandoc(path):
    import pypandoc
    return subprocess.run([pypandoc.get_pandoc_path(), '-f', 'docx', '-t', 'plain', '--wrap=none', path],
                          capture_output=True, check=True, text=True).stdout


engine, folder, out = sys.argv[1:4]
read, failed, lines = globals()[engine.replace('-', '_')], [], []
names = sorted(name for name in os.listdir(folder) if name.endswith('.docx'))
try: read(os.path.join(folder, names[0]))
except Exception: pass
spent = lambda: sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
                    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
began = spent()
for name in names:
    try: lines.append(json.dumps({'id': name[:-5], 'text': read(os.path.join(folder, name))}))
    except Exception as why: failed.append(f'{name}: {type(why).__name__}')
print(f'{engine}\t{spent() - began:.4f} CPU s\t{len(failed)} failed {failed}')
open(out, 'w').write('\n'.join(lines) + '\n')
