"""Pieces that templates share: a page's own text as HTML, and what stands around it on real sites."""
import html
import json
import re


def esc(text):
    return html.escape(text, quote=False)


class Page:
    """One article with its gold text, and a source of text that is not gold."""

    def __init__(self, writer, n_paragraphs, extras=()):
        self.w, self.rng = writer, writer.rng
        self.title, self.author, self.date = writer.title(), writer.person(), writer.date()
        self.blocks = writer.blocks(n_paragraphs, extras)
        self.extra_gold = []

    def gold(self):
        """The body: no headline, byline, date or caption."""
        out = []
        for kind, content in self.blocks:
            if kind in ("ul", "ol"):
                out += content
            elif kind == "table":
                out += [" ".join(row) for row in content]
            elif kind != "figure":
                out.append(content)
        return "\n".join(out + self.extra_gold)

    def inline(self, text):
        """Links and emphasis inside a paragraph, on words that stand in it."""
        out = esc(text)
        for name in re.findall(r"(?:[A-Z][\w-]+ ){1,2}[A-Z][\w-]+", text)[:2]:
            if self.rng.random() < .5:
                name = esc(name)
                out = out.replace(name, f'<a href="/t/{self.rng.randrange(999)}">{name}</a>', 1)
        if self.rng.random() < .2 and "<" not in out:
            out = re.sub(r"(\w+ \w+)", r"<em>\1</em>", out, count=1)
        return out

    def body(self, p='<p>{}</p>', between=()):
        """The blocks as HTML; `between` are pieces of boilerplate put after some of them."""
        out, between = [], list(between)
        for i, (kind, content) in enumerate(self.blocks):
            out.append(self.block(kind, content, p))
            if between and i % 2 == 1:
                out.append(between.pop(0))
        return "\n".join(out + between)

    def block(self, kind, content, p):
        if kind in ("ul", "ol"):
            return f"<{kind}>" + "".join(f"<li>{self.inline(x)}</li>" for x in content) + f"</{kind}>"
        if kind == "table":
            rows = ["<tr>" + "".join(f"<td>{esc(c)}</td>" for c in row) + "</tr>" for row in content]
            return "<table><tbody>" + "".join(rows) + "</tbody></table>"
        if kind == "quote":
            return f"<blockquote><p>{esc(content)}</p></blockquote>"
        if kind == "pre":
            return f'<pre><code class="language-x">{esc(content)}</code></pre>'
        if kind == "figure":
            return f'<figure><img src="/i/{self.rng.randrange(99)}.jpg" alt=""><figcaption>{esc(content)}</figcaption></figure>'
        if kind in ("h2", "h3"):
            return f"<{kind}>{esc(content)}</{kind}>"
        return p.format(self.inline(content))

    def links(self, n, tag="li", words=True):
        """Links in a row."""
        labels = "Home World Politics Business Tech Science Health Sport Arts Travel Opinion Video Local Weather Jobs Cars".split()
        self.rng.shuffle(labels)
        texts = [self.w.teaser() if words else labels[i % len(labels)] for i in range(n)]
        return "\n".join(f'<{tag}><a href="/{i}-{self.rng.randrange(9999)}">{esc(t)}</a></{tag}>' for i, t in enumerate(texts))

    def cards(self, n, markup, text=True):
        """Teasers of other pages; `markup` has `{t}` for a title, `{s}` for a sentence, `{d}` for a date."""
        return "\n".join(markup.format(t=esc(self.w.teaser()), s=esc(self.w.sentence()) if text else "", d=self.w.date(),
                                       a=esc(self.w.person()), n=self.rng.randrange(999)) for _ in range(n))

    def comments(self, n, markup):
        """What readers wrote below: `{a}` who, `{d}` when, `{s}` what."""
        return "\n".join(markup.format(a=esc(self.w.person()), d=self.w.date(), s=esc(self.w.paragraph(1, 3)), n=i)
                         for i in range(n))

    def posts(self, n, markup):
        """Like comments, but they are what the page is about."""
        out = []
        for i in range(n):
            text = self.w.paragraph(2, 4)
            self.extra_gold.append(text)
            out.append(markup.format(a=esc(self.w.person()), d=self.w.date(), s=esc(text), n=i))
        return "\n".join(out)

    def head(self, site, kind="article", ld=False, language="en"):
        """A page's head."""
        out = [f'<meta charset="utf-8"><title>{esc(self.title)} | {site}</title>',
               f'<meta property="og:type" content="{kind}"><meta name="viewport" content="width=device-width">',
               f'<meta property="og:title" content="{html.escape(self.title)}">',
               '<link rel="stylesheet" href="/s.css"><script>var dataLayer=[{"page":"x"}];if(1<2){}</script>',
               '<style>.a{color:red}</style>']
        if ld:
            data = {"@context": "https://schema.org", "@type": "NewsArticle", "headline": self.title,
                    "datePublished": self.date, "author": {"@type": "Person", "name": self.author}}
            out.append(f'<script type="application/ld+json">{json.dumps(data)}</script>')
        return "<head>" + "".join(out) + "</head>"


COOKIES = """<div id="onetrust-consent-sdk"><div class="otFlat bottom"><h2>We value your privacy</h2><p>We and our 842 partners
store and access information on a device, such as cookies, and process personal data for measurement and audience
research. You can change your choices at any time.</p><button>Accept all</button></div></div>"""
COOKIES_PLAIN = """<div class="cc-window" role="dialog"><span>This website uses cookies to ensure you get the best experience on our
website. <a href="/privacy">Learn more</a></span><a class="cc-btn">Got it!</a></div>"""
NEWSLETTER = """<div class="newsletter-box"><h3>Get the morning briefing</h3><p>The stories that matter, every weekday in your
inbox. Unsubscribe whenever you like, we never share your address.</p><form><input type="email"><button>Sign up</button></form></div>"""
COPYRIGHT = """<p>© 2021 Example Media Group. All rights reserved. Reproduction in whole or in part without permission is
prohibited. <a href="/imprint">Imprint</a> <a href="/privacy">Privacy policy</a> <a href="/terms">Terms of use</a></p>"""
