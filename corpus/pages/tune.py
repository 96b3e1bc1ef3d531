"""Templates that the reader may be tuned on, one function each: a page to HTML."""
from parts import COOKIES, COOKIES_PLAIN, COPYRIGHT, NEWSLETTER, esc

ARTICLE = ("h2", "figure", "quote", "ul")


def news_semantic(g):
    return f"""<!doctype html><html lang="en">{g.head("The Daily Pier", ld=True)}<body class="single">{COOKIES}
<header class="site-header"><a href="/" class="logo">The Daily Pier</a><nav><ul>{g.links(9, words=False)}</ul></nav></header>
<main id="main"><article class="story"><header><p class="kicker"><a href="/local">Local</a></p><h1>{esc(g.title)}</h1>
<p class="standfirst"></p><div class="byline">By <a href="/by/x" rel="author">{g.author}</a> <time datetime="{g.date}">{g.date}</time></div>
<ul class="share-tools"><li><a href="#f">Facebook</a></li><li><a href="#t">Twitter</a></li><li><a href="#m">Email</a></li></ul></header>
<div class="story-body">{g.body(between=[NEWSLETTER, f'<aside class="related-inline"><h4>Read more</h4><ul>{g.links(2)}</ul></aside>'])}</div>
<footer><ul class="tags">{g.links(4, words=False)}</ul><div class="author-bio"><img src="a.jpg"><p>{g.author} writes about water,
roads and everything that leaks. Before joining the Pier she edited a shipping gazette.</p></div></footer></article>
<section class="comments" id="comments"><h2>12 comments</h2>{g.comments(5, '<div class="c"><b>{a}</b> <i>{d}</i><p>{s}</p><a href="#r">Reply</a></div>')}</section>
</main><aside class="sidebar"><h2>Most read</h2><ol>{g.links(6)}</ol></aside><footer class="site-footer">{COPYRIGHT}</footer></body></html>"""


def news_hashed(g):
    card = '<div class="css-k2j1"><a class="css-9aa" href="/n/{n}"><h3 class="css-5fw">{t}</h3></a><p class="css-b12">{s}</p><span>{d}</span></div>'
    return f"""<!doctype html><html lang="en">{g.head("Bridge News")}<body><div id="__next"><div class="css-1x1"><div class="css-u7"><ul class="css-m3">
{g.links(14, words=False)}</ul></div></div><div class="css-77a"><main role="main" class="css-0"><article class="css-4r">
<header class="css-hh"><h1 class="css-q1">{esc(g.title)}</h1><div class="css-dd"><span>By {g.author}</span><span>Published {g.date}</span></div>
<div class="css-sh"><button>Share</button><button>Save</button></div></header>
{g.body('<div data-component="text-block" class="css-tx"><p class="css-pp">{}</p></div>')}
<div data-component="tag-list" class="css-tg"><h2>Related topics</h2><ul>{g.links(5, words=False)}</ul></div></article>
<div class="css-rl"><h2>More on this story</h2>{g.cards(4, card)}</div></main>
<div class="css-tp"><h2>Top stories</h2>{g.cards(5, card)}<h2>Elsewhere on the site</h2>{g.cards(6, card)}</div></div>
<footer class="css-ft"><ul>{g.links(12, words=False)}</ul><p>Copyright 2023. The site is not responsible for the content of external pages.</p></footer>
</div></body></html>"""


def news_2012(g):
    return f"""<html><head><title>{esc(g.title)} - Valtby Post</title></head><body><div id="wrap"><div id="hd"><div class="logo"><a href="/">Valtby Post</a></div>
<div id="topnav"><a href="/">Home</a> <a href="/n">News</a> <a href="/s">Sport</a> <a href="/c">Classifieds</a> <a href="/o">Obituaries</a></div></div>
<div id="bd"><div id="colA"><h1>{esc(g.title)}</h1><div class="info">{g.author} | {g.date} | <a href="#com">14 comments</a></div>
<div id="storytext">{g.body(between=['<div class="adbox">Advertisement<br>Story continues below</div>'])}</div>
<div class="toolbox"><a href="p">Print</a> | <a href="e">E-mail</a> | <a href="r">RSS</a></div>
<div id="readercomments"><h3>Reader comments</h3>{g.comments(7, '<div class="rc"><div class="who">{a} wrote on {d}:</div><div class="what">{s}</div></div>')}</div></div>
<div id="colB"><div class="box"><h4>Most viewed</h4><ul>{g.links(8)}</ul></div><div class="box"><h4>Photo galleries</h4>{g.cards(3, '<p><a href="/g{n}">{t}</a> {s}</p>')}</div>
<div class="box"><h4>Events</h4>{g.cards(4, '<div>{d} <a href="/e{n}">{t}</a></div>')}</div></div></div>
<div id="ft">{COPYRIGHT}</div></div></body></html>"""


def news_german(g):
    return f"""<!doctype html><html lang="de">{g.head("Hafenbote", ld=True)}<body><div class="cmp-hinweis cookie-hinweis"><p>Diese Seite verwendet Cookies. Mit der
Nutzung erklären Sie sich einverstanden.</p></div><div class="kopf"><ul class="hauptnavigation">{g.links(8, words=False)}</ul></div>
<div class="seite"><div class="artikel"><span class="dachzeile">Verkehr</span><h1 class="ueberschrift">{esc(g.title)}</h1>
<div class="autorenzeile">Von {g.author}</div><div class="datum">Stand: {g.date}, 11:05 Uhr</div>
<div class="artikelinhalt">{g.body('<p class="absatz">{}</p>', between=[f'<div class="teaserbox mehr-zum-thema"><h3>Mehr zum Thema</h3><ul>{g.links(3)}</ul></div>'])}</div>
<div class="teilen"><a href="#">Teilen</a> <a href="#">Drucken</a> <a href="#">Merken</a></div></div>
<div class="marginalspalte"><h3>Meistgelesen</h3>{g.cards(6, '<div class="teaser"><a href="/{n}"><h4>{t}</h4></a><p>{s}</p></div>')}</div></div>
<div class="fusszeile"><p>© Hafenbote Verlag. Alle Rechte vorbehalten.</p><a href="/i">Impressum</a> <a href="/d">Datenschutz</a> <a href="/a">AGB</a></div></body></html>"""


def news_french(g):
    return f"""<!doctype html><html lang="fr">{g.head("Le Quai")}<body><header id="header"><nav class="menu">{g.links(9, "span", False)}</nav></header><div class="page"><section class="article__wrapper">
<h1 class="article__title">{esc(g.title)}</h1><p class="article__desc"></p><div class="meta__author">Par {g.author} — Publié le {g.date}</div>
<section class="article__content">{g.body('<p class="article__paragraph">{}</p>', between=[f'<section class="catcher catcher--inline"><span>Lire aussi</span> <a href="/x">{esc(g.w.teaser())}</a></section>'])}</section>
<section class="article__reactions">Contribuer : <a href="/c">Réutiliser ce contenu</a></section></section>
<section class="river">{g.cards(6, '<a class="river__teaser" href="/{n}"><h3>{t}</h3><p>{s}</p></a>')}</section></div>
<footer id="footer"><ul>{g.links(14, words=False)}</ul></footer></body></html>"""


def blog_wordpress(g):
    return f"""<!doctype html><html lang="en-US">{g.head("Rope and Rust")}<body class="post-template-default single single-post has-sidebar"><div id="page" class="site">
<a class="skip-link screen-reader-text" href="#content">Skip to content</a><header id="masthead" class="site-header"><h1 class="site-title"><a href="/">Rope and Rust</a></h1>
<p class="site-description">Notes from a workshop by the sea</p><nav id="site-navigation" class="main-navigation"><ul class="menu">{g.links(6, words=False)}</ul></nav></header>
<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main"><article id="post-91" class="post-91 post type-post hentry">
<header class="entry-header"><h1 class="entry-title">{esc(g.title)}</h1><div class="entry-meta"><span class="posted-on">Posted on <a href="#"><time class="entry-date" datetime="{g.date}">{g.date}</time></a></span>
<span class="byline"> by <a class="url fn n" href="/author/x">{g.author}</a></span></div></header><div class="entry-content">{g.body()}
<div class="sharedaddy sd-sharing-enabled"><h3 class="sd-title">Share this:</h3><ul><li><a href="#">Twitter</a></li><li><a href="#">Facebook</a></li></ul></div>
<div id="jp-relatedposts" class="jp-relatedposts"><h3 class="jp-relatedposts-headline"><em>Related</em></h3>{g.cards(3, '<div class="jp-relatedposts-post"><h4><a href="/{n}">{t}</a></h4><p>{s}</p></div>')}</div></div>
<footer class="entry-footer"><span class="cat-links">Posted in <a href="#">Tools</a></span> <span class="tags-links">Tagged <a href="#">rope</a>, <a href="#">rust</a></span></footer></article>
<nav class="navigation post-navigation"><div class="nav-links"><div class="nav-previous"><a href="#">{esc(g.w.teaser())}</a></div><div class="nav-next"><a href="#">{esc(g.w.teaser())}</a></div></div></nav>
<div id="comments" class="comments-area"><h2 class="comments-title">3 thoughts on “{esc(g.title)}”</h2><ol class="comment-list">{g.comments(4, '<li class="comment"><article class="comment-body"><footer class="comment-meta"><b class="fn">{a}</b> says: <time>{d}</time></footer><div class="comment-content"><p>{s}</p></div><div class="reply"><a>Reply</a></div></article></li>')}</ol>
<div id="respond" class="comment-respond"><h3>Leave a Reply</h3><form><p>Your email address will not be published. Required fields are marked *</p></form></div></div></main></div>
<aside id="secondary" class="widget-area"><section class="widget widget_recent_entries"><h2 class="widget-title">Recent Posts</h2><ul>{g.links(5)}</ul></section>
<section class="widget widget_text"><h2>About</h2><p>I mend nets, write software and keep bees, in that order. This site has been running since 2006.</p></section></aside></div>
<footer id="colophon" class="site-footer"><div class="site-info"><a href="https://wordpress.org/">Proudly powered by WordPress</a></div></footer></div></body></html>"""


def blog_medium(g):
    return f"""<!doctype html><html lang="en">{g.head("Medium", ld=True)}<body><div id="root"><div class="a b c"><div class="d e f"><a href="/">Sign up</a><a href="/i">Sign in</a></div>
<article class="meteredContent"><div class="l"><section class="n q"><div><div class="r s"><h1 class="t u">{esc(g.title)}</h1><div class="v w"><div class="x"><a href="/@x">{g.author}</a></div>
<div class="y z"><span>Follow</span><span>{g.date}</span><span>7 min read</span></div></div><div class="ab ac"><button>Listen</button><div>417</div><div>12</div></div>
{g.body('<p class="pw-post-body-paragraph ad">{}</p>')}</div></div></section></div></article>
<div class="ae af"><div class="ag"><a href="/tag/a">Infrastructure</a><a href="/tag/b">Writing</a></div><div class="ah">417 claps</div>
<div class="ai"><h2>Written by {g.author}</h2><div>1.2K Followers</div><p>Thinks slowly about bridges. Opinions are those of my employer's cat.</p><button>Follow</button></div>
<div class="aj"><h2>More from {g.author}</h2>{g.cards(4, '<div class="ak"><a href="/p{n}"><h2>{t}</h2><div><h3>{s}</h3></div></a><span>{d} 5 min read</span></div>')}</div>
<div class="al"><h2>Recommended from Medium</h2>{g.cards(6, '<div class="ak"><a href="/p{n}"><h2>{t}</h2><div><h3>{s}</h3></div></a><span>{a}</span></div>')}</div>
<div class="am"><a href="#">Help</a><a href="#">Status</a><a href="#">About</a><a href="#">Careers</a></div></div></div></div></body></html>"""


def blog_jekyll(g):
    return f"""<!DOCTYPE html><html lang="en"><head><title>{esc(g.title)}</title></head><body><header class="site-header"><div class="wrapper"><a class="site-title" href="/">plain notes</a>
<nav class="site-nav"><a class="page-link" href="/about/">About</a></nav></div></header><main class="page-content"><div class="wrapper"><article class="post h-entry">
<header class="post-header"><h1 class="post-title p-name">{esc(g.title)}</h1><p class="post-meta"><time class="dt-published">{g.date}</time></p></header>
<div class="post-content e-content">{g.body()}</div><a class="u-url" href="/x" hidden></a></article></div></main>
<footer class="site-footer h-card"><div class="wrapper"><h2>plain notes</h2><p>{g.author}</p><p>Things I would otherwise forget.</p></div></footer></body></html>"""


def docs_sphinx(g):
    return f"""<!DOCTYPE html><html><head><title>{esc(g.title)} — tidegate 2.1 documentation</title></head><body class="wy-body-for-nav"><div class="wy-grid-for-nav">
<nav class="wy-nav-side"><div class="wy-side-scroll"><div class="wy-side-nav-search"><a href="index.html">tidegate</a></div><div class="wy-menu wy-menu-vertical"><ul>{g.links(14)}</ul></div></div></nav>
<section class="wy-nav-content-wrap"><div class="wy-nav-content"><div class="rst-content"><div role="navigation" aria-label="Page navigation"><ul class="wy-breadcrumbs"><li><a href="#">Docs</a> »</li><li>{esc(g.title)}</li></ul></div>
<div role="main" class="document" itemscope><div itemprop="articleBody"><section id="s"><h1>{esc(g.title)}<a class="headerlink" href="#s">¶</a></h1>
{g.body()}</section></div></div><footer><div class="rst-footer-buttons" role="navigation"><a href="n" class="btn">Next</a><a href="p" class="btn">Previous</a></div>
<div role="contentinfo"><p>© Copyright 2020, the authors.</p></div>Built with <a href="s">Sphinx</a> using a theme provided by Read the Docs.</footer></div></div></section></div></body></html>"""


def docs_docusaurus(g):
    return f"""<!doctype html><html lang="en">{g.head("Tidegate Docs", "website")}<body class="navigation-with-keyboard"><div id="__docusaurus"><div role="region"><a class="skipToContent_x" href="#c">Skip to main content</a></div>
<nav class="navbar navbar--fixed-top"><div class="navbar__inner">{g.links(6, "span", False)}</div></nav><div class="main-wrapper"><div class="docPage_x"><aside class="theme-doc-sidebar-container"><ul class="theme-doc-sidebar-menu menu__list">{g.links(16)}</ul></aside>
<main class="docMainContainer_x"><div class="container"><div class="row"><div class="col docItemCol_x"><div class="docItemContainer_x"><article><nav class="theme-doc-breadcrumbs"><ul><li>Guides</li><li>{esc(g.title)}</li></ul></nav>
<span class="theme-doc-version-badge badge">Version: 2.1</span><div class="theme-doc-markdown markdown"><header><h1>{esc(g.title)}</h1></header>{g.body()}</div>
<footer class="theme-doc-footer"><div class="row"><div class="col"><a href="e">Edit this page</a></div><div class="col lastUpdated_x">Last updated on {g.date} by {g.author}</div></div></footer></article>
<nav class="pagination-nav"><a class="pagination-nav__link" href="p"><div>Previous</div><div>Install</div></a><a class="pagination-nav__link" href="n"><div>Next</div><div>Deploy</div></a></nav></div></div>
<div class="col col--3"><div class="tableOfContents_x thin-scrollbar"><ul class="table-of-contents">{g.links(5)}</ul></div></div></div></div></main></div></div>
<footer class="footer footer--dark"><div class="footer__links">{g.links(9, "div", False)}</div><div class="footer__copyright">Copyright © 2023 Tidegate, Inc. Built with Docusaurus.</div></footer></div></body></html>"""


def docs_bare(g):
    return f"""<HTML><HEAD><TITLE>{esc(g.title)}</TITLE></HEAD><BODY BGCOLOR="#FFFFFF"><P ALIGN=CENTER>[ <A HREF="p.html">Previous</A> | <A HREF="toc.html">Contents</A> | <A HREF="n.html">Next</A> ]</P><HR>
<H1>{esc(g.title)}</H1>{g.body('<P>{}')}<HR><ADDRESS>Last modified {g.date} by <A HREF="mailto:x@example.org">x@example.org</A></ADDRESS></BODY></HTML>"""


def forum_discourse(g):
    g.blocks = []
    post = '<div id="post_{n}" itemprop="comment" class="topic-body crawler-post"><div class="crawler-post-meta"><span class="creator"><a href="/u/x"><span>{a}</span></a></span><span class="crawler-post-infos"><time>{d}</time><span>{n}</span></span></div><div class="post" itemprop="text"><p>{s}</p></div><div class="post-likes">3 Likes</div></div>'
    return f"""<!DOCTYPE html><html lang="en"><head><title>{esc(g.title)} - Support - Tidegate Community</title></head><body class="crawler"><header><a href="/">Tidegate Community</a></header>
<div id="main-outlet" class="wrap" role="main"><div id="topic-title"><h1><a href="/t/1">{esc(g.title)}</a></h1><div class="topic-category"><span><a href="/c/s">Support</a></span></div></div>
<div itemscope itemtype="http://schema.org/DiscussionForumPosting">{g.posts(6, post)}</div>
<div id="related-topics" class="more-topics__list"><h3>Related topics</h3><table class="topic-list"><thead><tr><th>Topic</th><th>Replies</th><th>Views</th><th>Activity</th></tr></thead><tbody>{g.cards(5, '<tr><td><a href="/t/{n}">{t}</a></td><td>{n}</td><td>{n}</td><td>{d}</td></tr>')}</tbody></table></div></div>
<footer class="container"><nav class="crawler-nav"><ul><li><a href="/">Home</a></li><li><a href="/c">Categories</a></li><li><a href="/g">Guidelines</a></li></ul></nav><p class="powered-by-link">Powered by <a href="d">Discourse</a>, best viewed with JavaScript enabled</p></footer></body></html>"""


def forum_phpbb(g):
    g.blocks = []
    post = '<div id="p{n}" class="post bg1"><div class="inner"><dl class="postprofile"><dt><a href="u">{a}</a></dt><dd>Posts: 12</dd><dd>Joined: {d}</dd></dl><div class="postbody"><h3><a href="#p{n}">Re: gate</a></h3><p class="author">by <b>{a}</b> » {d}</p><div class="content">{s}</div></div><div class="back2top"><a href="#top">Top</a></div></div></div>'
    return f"""<!DOCTYPE html><html dir="ltr"><head><title>{esc(g.title)} - gates.example</title></head><body id="phpbb" class="nojs section-viewtopic"><div id="wrap" class="wrap"><div id="page-header"><div class="headerbar"><h1>gates.example</h1><p>Everything that closes</p></div>
<div class="navbar"><ul id="nav-main" class="nav-main linklist">{g.links(5, words=False)}</ul></div></div><div id="page-body" class="page-body"><h2 class="topic-title"><a href="t">{esc(g.title)}</a></h2>
<div class="action-bar bar-top"><a href="r" class="button">Post Reply</a><div class="pagination">7 posts • Page <b>1</b> of <b>1</b></div></div>{g.posts(7, post)}
<div class="action-bar actions-jump"><p class="jumpbox-return"><a href="f">Return to “Hardware”</a></p></div><div class="stat-block online-list"><h3>Who is online</h3><p>Users browsing this forum: No registered users and 2 guests</p></div></div>
<div id="page-footer" class="page-footer"><ul class="nav-footer linklist">{g.links(4, words=False)}</ul><div class="copyright">Powered by phpBB Forum Software</div></div></div></body></html>"""


def wiki_mediawiki(g):
    return f"""<!DOCTYPE html><html class="client-nojs" lang="en"><head><title>{esc(g.title)} - Wiki</title></head><body class="mediawiki ltr ns-0"><div id="mw-page-base" class="noprint"></div><div id="content" class="mw-body" role="main"><div id="siteNotice"></div>
<h1 id="firstHeading" class="firstHeading">{esc(g.title)}</h1><div id="bodyContent" class="mw-body-content"><div id="siteSub" class="noprint">From a wiki</div><div id="jump-to-nav"></div><a class="mw-jump-link" href="#n">Jump to navigation</a>
<div id="mw-content-text" class="mw-content-ltr"><div class="mw-parser-output">{g.body('<p>{}<sup class="reference"><a href="#c">[1]</a></sup></p>')}
<div id="toc" class="toc"><h2>Contents</h2><ul>{g.links(5)}</ul></div><div role="navigation" class="navbox"><table><tr><th>Bridges</th></tr><tr><td><ul>{g.links(12)}</ul></td></tr></table></div></div>
<div class="printfooter">Retrieved from "<a href="x">https://wiki.example/x</a>"</div></div><div id="catlinks" class="catlinks"><a href="c">Categories</a>: <ul>{g.links(4)}</ul></div></div></div>
<div id="mw-navigation"><h2>Navigation menu</h2><div id="mw-head"><ul>{g.links(8, words=False)}</ul></div><div id="mw-panel"><h3>Tools</h3><ul>{g.links(9, words=False)}</ul></div></div>
<footer id="footer" class="mw-footer"><ul><li>This page was last edited on {g.date}, at 11:02.</li><li>Text is available under a free licence; additional terms may apply.</li></ul></footer></body></html>"""


def wiki_confluence(g):
    return f"""<!DOCTYPE html><html><head><title>{esc(g.title)} - Confluence</title></head><body class="theme-default"><div id="full-height-container"><div id="header-precursor"></div><header id="header"><nav class="aui-header">{g.links(5, "span", False)}</nav></header>
<div class="ia-splitter"><div class="ia-fixed-sidebar"><div class="acs-side-bar"><h5>Page tree</h5><ul>{g.links(12)}</ul></div></div><div id="main" class="aui-page-panel"><div id="main-header"><div id="navigation" class="content-navigation"><ul><li><a href="w">Watch</a></li></ul></div>
<h1 id="title-text" class="with-breadcrumbs"><a href="/x">{esc(g.title)}</a></h1></div><div id="content" class="page view"><div class="page-metadata"><ul class="banner"><li class="page-metadata-modification-info">Created by <span class="author"><a href="/u">{g.author}</a></span>, last modified on {g.date}</li></ul></div>
<div id="main-content" class="wiki-content">{g.body()}</div><div id="likes-and-labels-container"><div class="label-list">No labels</div></div><div id="comments-section" class="pageSection"><h2>1 Comment</h2>{g.comments(2, '<ol class="comment-threads"><li class="comment"><h4>{a}</h4><div class="comment-content wiki-content"><p>{s}</p></div></li></ol>')}</div></div></div></div>
<div id="footer"><section class="footer-body"><ul id="poweredby"><li>Powered by Atlassian Confluence</li></ul></section></div></div></body></html>"""


def shop_shopify(g):
    return f"""<!doctype html><html lang="en">{g.head("Lamp Works", "product")}<body class="template-product"><div id="shopify-section-announcement-bar"><div class="announcement-bar" role="region"><p>Free shipping over $50</p></div></div>
<div class="header-wrapper"><header class="header"><nav class="header__inline-menu"><ul>{g.links(7, words=False)}</ul></nav></header></div><main id="MainContent" class="content-for-layout"><section class="product-section">
<div class="product__info-wrapper"><div class="product__title"><h1>{esc(g.title)}</h1></div><div class="price"><span class="price-item">$49.00</span></div><form><label>Quantity</label><input><button>Add to cart</button></form>
<div class="product__description rte">{g.body()}</div></div></section><section class="product-recommendations"><h2>You may also like</h2><ul class="product-grid">{g.cards(4, '<li><a href="/p{n}">{t}</a> <span>$ {n}.00</span></li>')}</ul></section>
<section class="newsletter">{NEWSLETTER}</section></main><footer class="footer"><ul>{g.links(6, words=False)}</ul><small>© 2022, Lamp Works. Powered by Shopify</small></footer></body></html>"""


def press_megamenu(g):
    column = '<div class="col"><h4>{t}</h4><p>{s}</p><a href="/{n}">Find out more</a></div>'
    return f"""<!doctype html><html lang="en">{g.head("Ostrel Group", "website")}<body>{COOKIES_PLAIN}<div class="top"><div class="mega">{g.cards(6, column)}</div></div><div class="crumbs"><a href="/">Home</a> &gt; <a href="/m">Media</a> &gt; Press release</div>
<div class="grid"><div class="grid-8"><h1>{esc(g.title)}</h1><p class="date">{g.date}</p><div class="rich-text">{g.body()}</div><div class="cta"><a class="button" href="/pdf">Download as PDF</a></div></div>
<div class="grid-4"><h3>Media contact</h3><p>{g.author}<br>Head of communications<br>Tel. +44 20 5555 0100</p><h3>Latest releases</h3><ul>{g.links(5)}</ul></div></div>
<div class="bottom"><div class="disclaimer"><p>Ostrel Group plc is registered in England. Statements on this page may be forward-looking and involve risks; actual results may differ.</p></div><div>{g.links(9, "span", False)}</div></div></body></html>"""


def soup_columns(g):
    teaser = '<div class="q7"><a class="q8" href="/{n}">{t}</a><div class="q9">{s}</div></div>'
    return f"""<!doctype html><html><head><title>{esc(g.title)} - Harborline</title></head><body><div class="z0"><div class="z1">We and selected partners use cookies or similar technologies as specified in the cookie policy. You can consent
to the use of such technologies by closing this notice.</div></div><div class="a1"><div class="a2"><a href="/">Harborline</a></div><div class="a3">{g.links(9, "span", False)}</div></div><div class="b1"><div class="b2">{g.links(10, "div", False)}</div>
<div class="b3"><div class="c1"><h1 class="c2">{esc(g.title)}</h1><div class="c3">{g.author}</div><div class="c4">{g.date} · 4 min</div></div><div class="c5">{g.body('<div class="c6">{}</div>')}</div><div class="c7"><a href="#">Like</a><a href="#">Send</a></div></div>
<div class="b4"><div class="d1">Latest</div>{g.cards(7, teaser)}</div></div><div class="e1"><div class="e2">{g.links(8, "span", False)}</div><div class="e3">© Harborline AG 2022</div></div></body></html>"""


def soup_comments(g):
    return f"""<!doctype html><html lang="en">{g.head("Gazette", "website")}<body><div class="k0">{g.links(8, "span", False)}</div><div class="k1"><div class="k2"><h1>{esc(g.title)}</h1><div class="k3">by {g.author}</div>{g.body()}</div>
<div class="k4"><h3>Comments (14)</h3>{g.comments(14, '<div class="k5"><div class="k6">{a}</div><div class="k7">{s}</div><a href="#">reply</a></div>')}</div></div><div class="k8">{g.links(5, "span", False)}</div></body></html>"""


def soup_form(g):
    return f"""<html><head><title>{esc(g.title)}</title></head><body><form name="aspnetForm" method="post" action="x.aspx" id="aspnetForm"><div class="aspNetHidden"><input type="hidden"></div><table id="ctl00_tblMain" width="100%"><tr><td id="ctl00_tdLeft"><table>{g.cards(9, '<tr><td><a href="{n}.aspx">{t}</a></td></tr>', False)}</table></td>
<td id="ctl00_tdBody"><span id="ctl00_lblTitle"><h1>{esc(g.title)}</h1></span><span id="ctl00_lblDate">{g.date}</span><div id="ctl00_divText">{g.body()}</div></td></tr></table><div id="ctl00_footer">Ministry of Water. All rights reserved. <a href="s">Sitemap</a> <a href="p">Privacy</a></div></form></body></html>"""


def news_split(g):
    parts = ['<div class="article-body__section"><p>' + "</p><p>".join(g.inline(c) for k, c in g.blocks[i:i + 3] if k == "p") + "</p></div>" for i in range(0, len(g.blocks), 3)]
    promo = f'<div class="promo-unit"><a href="/app">Download our app</a><p>{esc(g.w.sentence())}</p></div>'
    return f"""<!doctype html><html lang="en">{g.head("Metro Line", ld=True)}<body><div class="header-container"><ul>{g.links(7, words=False)}</ul></div><div class="content-wrapper"><h1>{esc(g.title)}</h1><div class="article-meta"><span>{g.author}</span><span>{g.date}</span></div><div class="hero"><img alt="{esc(g.w.sentence())}" src="h.jpg"><div class="image-caption">{esc(g.w.sentence())}</div></div>
{promo.join(parts)}<div class="addtoany_share_save_container"><a>Facebook</a><a>Twitter</a></div></div><div class="sidebar-wrapper"><div class="widget">{g.cards(5, '<div><a href="/{n}">{t}</a><p>{s}</p></div>')}</div></div><div class="footer-container">{COPYRIGHT}</div></body></html>"""


def docs_cards(g):
    g.blocks = []
    card = '<div class="card"><h3><a href="/docs/{n}">Guide {n}</a></h3><p>{s}</p></div>'
    return f"""<!doctype html><html lang="en">{g.head("Docs", "website")}<body><nav>{g.links(6, "span", False)}</nav><main><h1>{esc(g.title)}</h1><div class="cards">{g.posts(7, card)}</div></main><footer>{g.links(3, "span", False)}</footer></body></html>"""


def docs_faq(g):
    g.blocks = []
    return f"""<!doctype html><html lang="en">{g.head("Help", "website")}<body><div class="topnav">{g.links(5, "span", False)}</div><div class="wrapper"><h1>{esc(g.title)}</h1>{g.posts(8, '<details class="faq-item"><summary>Question {n}</summary><div class="faq-answer"><p>{s}</p></div></details>')}</div><div class="foot">{g.links(4, "span", False)}</div></body></html>"""


def docs_changelog(g):
    g.blocks = []
    return f"""<!doctype html><html lang="en"><head><title>Changelog</title></head><body><div id="header"><a href="/">Home</a></div><div id="content"><h1>{esc(g.title)}</h1>{g.posts(7, '<h2><a href="https://x.example/tag/{n}">Release {n}.0</a></h2><ul><li>{s}</li></ul>')}</div></body></html>"""


def blog_recipe(g):
    return f"""<!doctype html><html lang="en">{g.head("Slow Kitchen")}<body class="recipe-template-default"><div class="site-container"><header class="site-header">{g.links(6, "span", False)}</header><div class="site-inner"><div class="content-sidebar-wrap"><main class="content"><article class="post entry" itemtype="https://schema.org/BlogPosting"><header class="entry-header"><h1 class="entry-title">{esc(g.title)}</h1>
<p class="entry-meta"><time class="entry-time">{g.date}</time> by <span class="entry-author">{g.author}</span> <span class="entry-comments-link"><a href="#">22 Comments</a></span></p></header><div class="entry-content"><p class="disclosure-notice"></p>{g.body()}</div><footer class="entry-footer"><p class="entry-meta"><span class="entry-categories">Filed Under: <a>Soups</a></span></p></footer></article>
<section class="author-box"><h4>About {g.author}</h4><div class="author-box-content"><p>Cooks for nine people and one very patient cat in a kitchen that is too small for both of them.</p></div></section><div class="entry-comments" id="comments"><h3>Comments</h3>{g.comments(6, '<li class="comment"><p class="comment-author">{a}</p><div class="comment-content"><p>{s}</p></div></li>')}</div></main>
<aside class="sidebar sidebar-primary"><section class="widget"><h4>Welcome</h4><p>Hello, I am so glad that you are here. Stay for soup, and do try the bread while it is warm.</p></section></aside></div></div><footer class="site-footer"><p>Copyright © 2024 Slow Kitchen on Foodie Theme</p></footer></div></body></html>"""


TEMPLATES = [
    (news_semantic, "en", 9, ARTICLE), (news_hashed, "en", 8, ("h2", "figure", "ul")), (news_2012, "en", 9, ("quote",)),
    (news_german, "de", 9, ("h2", "figure")), (news_french, "fr", 9, ("h2",)), (blog_wordpress, "en", 7, ("h2", "ol", "figure", "pre")),
    (blog_medium, "en", 10, ("h2", "h2", "figure", "quote", "pre")), (blog_jekyll, "en", 6, ("pre", "h2")),
    (docs_sphinx, "en", 5, ("h2", "pre", "table", "ul")), (docs_docusaurus, "en", 6, ("h2", "pre", "pre", "table")),
    (docs_bare, "en", 6, ("h2", "pre", "ul")), (forum_discourse, "en", 1, ()), (forum_phpbb, "en", 1, ()),
    (wiki_mediawiki, "en", 9, ("h2", "h2", "table")), (wiki_confluence, "en", 5, ("h2", "table", "ul")),
    (soup_columns, "en", 8, ("h2",)), (soup_comments, "en", 7, ("h2",)), (soup_form, "en", 7, ("h2", "ul")), (news_split, "en", 9, ()),
    (docs_cards, "en", 1, ()), (docs_faq, "en", 1, ()), (docs_changelog, "en", 1, ()), (blog_recipe, "en", 6, ("ul", "ol", "figure")),
    (shop_shopify, "en", 3, ("ul", "table")), (press_megamenu, "en", 6, ("quote", "ul")),
]
