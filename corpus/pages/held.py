"""Templates that are only measured, never looked at while the reader is changed: a page to HTML."""
from parts import COOKIES, COOKIES_PLAIN, COPYRIGHT, NEWSLETTER, esc


def news_magazine(g):
    card = '<div class="td_module_10 td_module_wrap"><h3 class="entry-title td-module-title"><a href="/{n}">{t}</a></h3><div class="td-module-meta-info">{d}</div><div class="td-excerpt">{s}</div></div>'
    return f"""<!doctype html><html lang="en-GB">{g.head("Coast Weekly", ld=True)}<body class="post-template-default single">{COOKIES_PLAIN}<div id="td-outer-wrap"><div class="td-header-wrap"><ul id="menu-main" class="sf-menu">{g.links(10, words=False)}</ul>
<div class="td-trending-now-wrapper">Trending Now {g.cards(2, '<h3><a href="/{n}">{t}</a></h3>')}</div></div><article class="post td-post-template-default"><div class="td-post-header"><ul class="td-category"><li><a href="/c">News</a></li></ul><header class="td-post-title"><h1 class="entry-title">{esc(g.title)}</h1>
<div class="td-module-meta-info"><div class="td-post-author-name"><div class="td-author-by">By</div> <a href="/a">{g.author}</a></div><span class="td-post-date"><time>{g.date}</time></span><div class="td-post-views"><span>1213</span></div></div></header>
<div class="td-post-sharing-top"><a href="#">Facebook</a><a href="#">Pinterest</a><a href="#">WhatsApp</a></div></div><div class="td-post-content tagdiv-type">{g.body(between=['<div class="td-a-rec"><span class="td-adspot-title">- Advertisement -</span></div>', NEWSLETTER])}</div>
<footer><div class="td-post-source-tags"><ul class="td-tags"><li><span>TAGS</span></li>{g.links(3, words=False)}</ul></div><div class="td-block-row td-post-next-prev"><span>Previous article</span><a href="#">{esc(g.w.teaser())}</a></div>
<div class="author-box-wrap"><div class="desc"><div class="td-author-name"><a>{g.author}</a></div><div class="td-author-description">Has covered the coast since the last ice age and owns three boats, two of which float.</div></div></div></footer></article>
<div class="td_block_related_posts"><h4>RELATED ARTICLES</h4>{g.cards(3, card)}</div><div class="td-pb-span4 td-main-sidebar"><div class="td_block_wrap"><h4>EDITOR PICKS</h4>{g.cards(5, card)}</div></div>
<div class="td-footer-wrapper"><div class="td-footer-info">ABOUT US<br>Coast Weekly is your guide to everything wet. We bring you the latest news straight from the quay.</div></div></div></body></html>"""


def news_atomic(g):
    card = '<li class="dcr-1kh"><div class="dcr-0"><a aria-label="x" href="/{n}"></a><h3 class="dcr-h"><span>{t}</span></h3><div class="dcr-tr">{s}</div><footer>{d}</footer></div></li>'
    return f"""<!doctype html><html lang="en">{g.head("The Sentinel", ld=True)}<body><header class="dcr-z1"><ul>{g.links(12, words=False)}</ul></header><main data-layout="Standard"><div class="dcr-g"><div style="grid-area:title" class="dcr-a"><a href="/env">Environment</a></div>
<div style="grid-area:headline"><h1 class="dcr-y7">{esc(g.title)}</h1></div><div style="grid-area:standfirst"></div><aside style="grid-area:meta"><address aria-label="Contributor info"><a rel="author" href="/p">{g.author}</a></address><details><summary>{g.date}</summary>Last modified today</details><a href="#">Share</a></aside>
<div style="grid-area:body" id="maincontent"><div class="article-body-commercial-selector article-body-viewer-selector dcr-b">{g.body('<p class="dcr-p">{}</p>', between=[f'<aside data-name="placeholder"><a href="#">Skip past newsletter promotion</a></aside>', f'<figure><aside class="dcr-rich"><p>Related: {esc(g.w.teaser())}</p></aside></figure>'])}</div>
<div class="dcr-sub"><div>Explore more on these topics</div><ul>{g.links(4, words=False)}</ul><a href="#">Reuse this content</a></div></div></div></main>
<section class="dcr-more"><h2>More on this story</h2><ul>{g.cards(5, card)}</ul></section><section class="dcr-pop"><h2>Most viewed</h2><ol>{g.cards(6, card, False)}</ol></section>
<footer><ul>{g.links(10, words=False)}</ul><div>© 2023 Sentinel News or its affiliated companies. All rights reserved.</div></footer></body></html>"""


def news_table_2003(g):
    body = "<br><br>".join(esc(content) if kind == "p" else f"<b>{esc(content)}</b>" for kind, content in g.blocks)
    return f"""<html><head><title>DUNMARSH ONLINE: {esc(g.title)}</title></head><body bgcolor=#ffffff><table width=760 cellspacing=0><tr><td colspan=3 bgcolor=#003366><a href="/"><img src=logo.gif alt="DUNMARSH ONLINE"></a></td></tr>
<tr><td width=130 valign=top bgcolor=#ccddee><font size=1><a href=1>Front page</a><br><a href=2>World</a><br><a href=3>Local</a><br><a href=4>Sport</a><br><a href=5>Letters</a><br><a href=6>Weather</a><br><b>SERVICES</b><br><a href=7>Text only</a><br><a href=8>Help</a></font></td>
<td valign=top><font size=1>{g.date}</font><br><font size=5><b>{esc(g.title)}</b></font><br><font size=2 face=arial>{body}</font><br><br><font size=1><a href=p>Printer-friendly version</a> | <a href=m>E-mail this to a friend</a></font></td>
<td width=150 valign=top><table bgcolor=#eeeeee><tr><td><font size=1><b>SEE ALSO:</b></font></td></tr>{g.cards(5, '<tr><td><font size=1><a href={n}>{t}</a></font></td></tr>', False)}<tr><td><font size=1>The site is not responsible for the content of external internet sites</font></td></tr></table></td></tr>
<tr><td colspan=3><center><font size=1>&copy; Dunmarsh Online 2003. <a href=/feedback>Feedback</a></font></center></td></tr></table></body></html>"""


def news_spanish(g):
    return f"""<!doctype html><html lang="es">{g.head("El Muelle", ld=True)}<body><header class="cabecera"><ul class="menu-principal">{g.links(9, words=False)}</ul></header><div class="contenedor"><div class="noticia"><div class="noticia-cabecera"><span class="antetitulo">Local</span><h1 class="titular">{esc(g.title)}</h1>
<div class="firma"><span class="autor">{g.author}</span> <span class="lugar">Ostrel</span> <time>{g.date}</time></div><div class="compartir"><a href="#">Compartir</a><a href="#">Enviar</a></div></div><div class="noticia-cuerpo">{g.body(between=[f'<div class="relacionadas"><h4>Noticias relacionadas</h4><ul>{g.links(2)}</ul></div>'])}</div>
<div class="etiquetas"><a href="#">Puerto</a> <a href="#">Obras</a></div><div class="comentarios"><h3>Comentarios</h3>{g.comments(4, '<div class="comentario"><b>{a}</b><p>{s}</p></div>')}</div></div>
<div class="lateral"><h3>Lo más leído</h3>{g.cards(6, '<div class="mini"><a href="/{n}">{t}</a><p>{s}</p></div>')}</div></div><div class="pie"><p>© El Muelle S.L. Queda prohibida toda reproducción sin permiso escrito.</p></div></body></html>"""


def news_russian(g):
    return f"""<!DOCTYPE html><html lang="ru">{g.head("Причал")}<body><div class="b-top"><div class="b-top__menu">{g.links(8, "span", False)}</div></div><div class="b-page"><div class="b-topic"><div class="b-topic__info">{g.date}</div><h1 class="b-topic__title">{esc(g.title)}</h1>
<div class="b-text clearfix" itemprop="articleBody">{g.body()}</div><div class="b-topic__tags">Теги: <a href="#">порт</a>, <a href="#">ремонт</a></div><div class="b-socials"><a>ВКонтакте</a><a>Одноклассники</a></div></div>
<div class="b-rubric"><h2>Новости по теме</h2>{g.cards(5, '<div class="item"><a href="/{n}">{t}</a><span>{d}</span></div>', False)}</div></div><div class="b-footer">Все права защищены. Использование материалов только с разрешения редакции. <a href="/ad">Реклама</a></div></body></html>"""


def news_japanese(g):
    return f"""<!DOCTYPE html><html lang="ja">{g.head("港新聞")}<body><div id="globalHeader"><ul>{g.links(7, words=False)}</ul></div><div id="contents"><div id="main_l"><div class="articleTitle"><h1>{esc(g.title)}</h1><p class="lastUpdate">{g.date}</p></div><div class="articleText">{g.body()}</div>
<div class="snsBtn"><a>シェア</a><a>ツイート</a></div><div class="relatedArticle"><h2>関連記事</h2><ul>{g.links(4)}</ul></div></div><div id="side_r"><h2>アクセスランキング</h2><ol>{g.links(8)}</ol></div></div><div id="footer"><small>無断転載を禁じます。</small></div></body></html>"""


def blog_blogspot(g):
    return f"""<!DOCTYPE html><html dir='ltr'><head><title>Kettle and Chain: {esc(g.title)}</title></head><body class='loading'><div class='navbar section' id='navbar'></div><div class='body-fauxcolumns'></div><div class='content'><header><div class='header section' id='header'><h1 class='title'><a href='/'>Kettle and Chain</a></h1><p class='description'><span>Slow engineering</span></p></div></header>
<div class='main-outer'><div class='columns'><div class='column-center-outer'><div class='main section' id='main'><div class='widget Blog' id='Blog1'><div class='blog-posts hfeed'><div class="date-outer"><h2 class='date-header'><span>{g.date}</span></h2><div class='post hentry uncustomized-post-template'><h3 class='post-title entry-title'>{esc(g.title)}</h3>
<div class='post-body entry-content' id='post-body-1'><div dir="ltr" style="text-align: left;">{g.body('{}<br /><br />')}</div><div style='clear: both;'></div></div><div class='post-footer'><div class='post-footer-line'><span class='post-author vcard'>Posted by <span class='fn'>{g.author}</span></span> <span class='post-timestamp'>at 7:42 AM</span> <span class='post-labels'>Labels: <a href='l'>chains</a></span></div></div></div></div></div>
<div class='comments' id='comments'><h4>2 comments:</h4>{g.comments(3, "<dl class='comments-block'><dt class='comment-author'><a>{a}</a> said...</dt><dd class='comment-body'><p>{s}</p></dd><dd class='comment-footer'>{d}</dd></dl>")}<p class='comment-footer'><a href='c'>Post a Comment</a></p></div><div class='blog-pager' id='blog-pager'><a href='n'>Newer Post</a><a href='o'>Older Post</a><a href='h'>Home</a></div></div></div></div>
<div class='column-right-outer'><aside><div class='sidebar section'><div class='widget Profile'><h2>About Me</h2><dl><dd class='profile-textblock'>Retired fitter. I collect kettles, chains and opinions about both, and answer mail when it rains.</dd></dl></div><div class='widget BlogArchive'><h2>Blog Archive</h2><ul class='hierarchy'>{g.links(12)}</ul></div></div></aside></div></div></div>
<footer><div class='widget Attribution'>Simple theme. Powered by <a href='b'>Blogger</a>.</div></footer></div></body></html>"""


def blog_substack(g):
    return f"""<!DOCTYPE html><html lang="en">{g.head("Slow Water", ld=True)}<body><div id="entry"><div class="pencraft main-menu"><a href="/">Slow Water</a><button>Subscribe</button><a href="/signin">Sign in</a></div><div class="single-post-container"><div class="container"><div class="single-post"><article class="typography newsletter-post post">
<div class="post-header"><h1 class="post-title published">{esc(g.title)}</h1><h3 class="subtitle"></h3><div class="pencraft byline-wrapper"><a>{g.author}</a><div>{g.date}</div><div>41</div><div>7</div><button>Share</button></div></div>
<div class="available-content"><div dir="auto" class="body markup">{g.body(between=['<div class="subscription-widget-wrap"><div class="subscription-widget show-subscribe"><div class="preamble"><p class="cta-caption">Slow Water is a reader-supported publication. To receive new posts and support my work, consider becoming a free or paid subscriber.</p></div></div></div>'])}</div></div>
<div class="post-footer"><a>Share</a></div></article></div></div><div class="comments-page"><h4>7 Comments</h4>{g.comments(4, '<div class="comment"><span>{a}</span><div class="comment-body"><p>{s}</p></div><span>Reply</span></div>')}</div>
<div class="portable-archive"><h4>Top</h4>{g.cards(4, '<div class="portable-archive-post"><a href="/p/{n}">{t}</a><div>{s}</div><div>{d} • {a}</div></div>')}</div><div class="footer-wrap"><p>Ready for more?</p><p>© 2024 {g.author}</p><a>Privacy</a> ∙ <a>Terms</a></div></div></div></body></html>"""


def blog_soup(g):
    return f"""<html><head><title>{esc(g.title)}</title></head><body><div><div><a href="/">half a mile</a></div><div><a href="/1">writing</a> <a href="/2">code</a> <a href="/3">photos</a></div></div><div><div><h1>{esc(g.title)}</h1><div>{g.date}</div></div><div>{g.body()}</div>
<div><div>If you liked this, you might like:</div>{g.cards(3, '<div><a href="/{n}">{t}</a></div>', False)}</div><div><div>2 replies</div>{g.comments(2, '<div><div>{a}, {d}</div><div>{s}</div></div>')}</div></div><div><div>This work is licensed under a permissive licence.</div><div><a href="/rss">rss</a></div></div></body></html>"""


def blog_polish(g):
    return f"""<!doctype html><html lang="pl">{g.head("Pod wiatr", "article")}<body class="blog"><div class="gora"><a href="/">Pod wiatr</a>{g.links(5, "span", False)}</div><div class="srodek"><div class="wpis"><h2 class="tytul">{esc(g.title)}</h2><div class="data">{g.date}, {g.author}</div><div class="tresc">{g.body()}</div><div class="udostepnij"><a>Udostępnij</a></div></div>
<div class="komentarze"><h3>Komentarze (3)</h3>{g.comments(3, '<div class="kom"><b>{a}</b> <span>{d}</span><div>{s}</div></div>')}</div></div><div class="boczna"><h4>Archiwum</h4><ul>{g.links(9)}</ul></div><div class="stopka">Wszelkie prawa zastrzeżone.</div></body></html>"""


def docs_mkdocs(g):
    return f"""<!doctype html><html lang="en" class="no-js"><head><title>{esc(g.title)} - Tidegate</title></head><body dir="ltr"><input class="md-toggle" type="checkbox"><div data-md-component="skip"><a href="#x" class="md-skip">Skip to content</a></div><header class="md-header"><nav class="md-header__inner md-grid"><span class="md-ellipsis">Tidegate</span><div class="md-search"><input></div></nav></header>
<div class="md-container"><main class="md-main"><div class="md-main__inner md-grid"><div class="md-sidebar md-sidebar--primary"><nav class="md-nav md-nav--primary"><ul class="md-nav__list">{g.links(15)}</ul></nav></div><div class="md-sidebar md-sidebar--secondary"><nav class="md-nav--secondary"><label class="md-nav__title">Table of contents</label><ul>{g.links(4)}</ul></nav></div>
<div class="md-content"><article class="md-content__inner md-typeset"><a href="e" title="Edit this page" class="md-content__button md-icon"></a><h1 id="x">{esc(g.title)}<a class="headerlink" href="#x">&para;</a></h1>{g.body(between=['<div class="admonition-space"></div>'])}<aside class="md-source-file"><span>Last update: {g.date}</span></aside></article></div></div></main>
<footer class="md-footer"><nav class="md-footer__inner"><a class="md-footer__link--prev"><span>Previous</span><div>Setup</div></a></nav><div class="md-copyright">Made with Material for MkDocs</div></footer></div></body></html>"""


def docs_learn(g):
    return f"""<!DOCTYPE html><html lang="en-us"><head><title>{esc(g.title)} | Learn</title><meta name="author" content="ops"></head><body><div id="ms--header"><header class="nav-bar"><a href="/">Learn</a>{g.links(5, "span", False)}</header></div><div class="mainContainer uhf-container has-default-focus"><div class="columns"><div id="left-container" class="left-container column"><nav id="affixed-left-container" class="doc-outline">{g.links(9)}</nav></div>
<section class="primary-holder column"><div id="main-column"><main id="main" role="main" class="content"><ul class="metadata page-metadata"><li>Article</li><li>{g.date}</li><li><button>2 contributors</button></li></ul><nav id="center-doc-outline" class="doc-outline"><h2>In this article</h2>{g.links(4)}</nav><h1 id="t">{esc(g.title)}</h1>{g.body()}</main>
<section class="feedback-section"><h2>Feedback</h2><p>Was this page helpful?</p><button>Yes</button><button>No</button></section></div></section></div></div><div id="footer-container"><footer><ul>{g.links(7, words=False)}</ul><p>© Learn 2024</p></footer></div></body></html>"""


def docs_readme(g):
    rows = g.cards(7, '<tr class="react-directory-row"><td><a href="/b/{n}">file{n}.rs</a></td><td><a href="/c/{n}">{t}</a></td><td>{d}</td></tr>', False)
    return f"""<!DOCTYPE html><html lang="en"><head><title>GitHub - tide/gate: {esc(g.title)}</title></head><body class="logged-out env-production"><div class="position-relative header-wrapper"><a href="#start-of-content" class="show-on-focus">Skip to content</a><header class="HeaderMktg"><nav>{g.links(8, "span", False)}</nav></header></div><div class="application-main"><main id="js-repo-pjax-container">
<div id="repository-container-header"><strong><a href="/t">gate</a></strong> <span class="Label">Public</span><ul class="UnderlineNav-body"><li><a href="c">Code</a></li><li><a href="i">Issues 12</a></li><li><a href="p">Pull requests 3</a></li></ul></div><div class="Layout"><div class="Layout-main"><table aria-labelledby="folders-and-files"><thead><tr><th>Name</th><th>Last commit message</th><th>Last commit date</th></tr></thead><tbody>{rows}</tbody></table>
<div id="readme" class="Box"><article class="markdown-body entry-content container-lg" itemprop="text"><h1>{esc(g.title)}</h1>{g.body()}</article></div></div><div class="Layout-sidebar"><div class="BorderGrid"><h2>About</h2><p class="f4 my-3">A daemon that closes gates</p><h3>Topics</h3><a href="t">rust</a><h2>Languages</h2><ul><li>Rust 98.1%</li></ul></div></div></div></main></div><footer class="footer"><span>© 2024 GitHub, Inc.</span><ul>{g.links(6, words=False)}</ul></footer></body></html>"""


def forum_vbulletin(g):
    g.blocks = []
    post = '<table id="post{n}" class="tborder" width="100%"><tr><td class="thead"><a name="post{n}"></a>{d}, 09:12 PM</td></tr><tr><td class="alt2"><a class="bigusername" href="m">{a}</a><div class="smallfont">Senior Member</div><div class="smallfont">Join Date: May 2004<br>Posts: 1,204</div></td></tr><tr><td class="alt1" id="td_post_{n}"><div id="post_message_{n}">{s}</div></td></tr></table>'
    return f"""<html><head><title>{esc(g.title)} - Gate Forums</title></head><body><table class="tborder"><tr><td class="alt1"><a href="/">Gate Forums</a> &gt; <a href="h">Hardware</a><br><strong>{esc(g.title)}</strong></td><td class="alt2"><form>User Name <input> Password <input></form></td></tr></table><table class="tborder"><tr><td class="vbmenu_control"><a href="r">Register</a></td><td class="vbmenu_control"><a href="f">FAQ</a></td><td class="vbmenu_control"><a href="c">Calendar</a></td></tr></table>
<div id="posts">{g.posts(6, post)}</div><table class="tborder"><tr><td class="thead">Similar Threads</td></tr>{g.cards(4, '<tr><td class="alt1"><a href="t{n}">{t}</a></td><td>{a}</td><td>{n}</td></tr>', False)}</table><div class="smallfont">All times are GMT. The time now is 08:15 AM.</div><div>Powered by vBulletin Version 3.8</div></body></html>"""


def forum_questions(g):
    g.blocks = []
    post = '<div id="answer-{n}" class="answer js-answer"><div class="post-layout"><div class="votecell"><div class="js-vote-count">{n}</div></div><div class="answercell post-layout--right"><div class="s-prose js-post-body"><p>{s}</p></div><div class="post-menu"><a>Share</a><a>Improve this answer</a><button>Follow</button></div><div class="user-info">answered {d} <a href="/u">{a}</a> <span>1,024</span></div></div></div></div>'
    return f"""<!DOCTYPE html><html class="html__responsive" lang="en"><head><title>hardware - {esc(g.title)} - Gate Overflow</title></head><body class="question-page"><header class="s-topbar"><a href="/">Gate Overflow</a>{g.links(3, "span", False)}</header><div class="container"><div id="left-sidebar" class="left-sidebar"><nav>{g.links(6, words=False)}</nav></div><div id="content"><div itemprop="mainEntity"><div id="question-header"><h1 class="fs-headline1"><a href="/q">{esc(g.title)}</a></h1><a class="s-btn" href="/ask">Ask Question</a></div><div>Asked {g.date} Modified today Viewed 2k times</div>
<div id="mainbar" role="main"><div id="question" class="question js-question"><div class="s-prose js-post-body" itemprop="text">{g.posts(1, '<p>{s}</p>')}</div><div class="post-taglist"><a class="post-tag">gate</a> <a class="post-tag">serial</a></div></div><div id="answers"><div id="answers-header"><h2>3 Answers</h2></div>{g.posts(3, post)}<h2>Your Answer</h2><form><p>Thanks for contributing an answer! Please be sure to answer the question.</p></form></div></div>
<div id="sidebar" class="show-votes"><div class="s-sidebarwidget"><div>The Overflow Blog</div>{g.links(2)}</div><div class="module sidebar-related"><h4>Related</h4>{g.links(6, "div")}</div><div id="hot-network-questions"><h4>Hot Network Questions</h4><ul>{g.links(8)}</ul></div></div></div></div></div><footer id="footer" class="site-footer">{g.links(9, "span", False)}</footer></body></html>"""


def wiki_doku(g):
    return f"""<!DOCTYPE html><html lang="en"><head><title>{esc(g.title)} [Gate Wiki]</title></head><body><div id="dokuwiki__site"><div id="dokuwiki__top" class="site dokuwiki mode_show showSidebar hasSidebar"><header id="dokuwiki__header"><div class="pad"><h1 class="logo"><a href="/"><span>Gate Wiki</span></a></h1><ul class="a11y skip"><li><a href="#c">skip to content</a></li></ul><div class="tools"><ul>{g.links(6, words=False)}</ul></div><div class="breadcrumbs"><div class="youarehere"><span class="bchead">You are here: </span><a>start</a> » <a>gates</a></div></div></div></header>
<div class="wrapper group"><nav id="dokuwiki__aside"><h3 class="toggle">Sidebar</h3><div class="content"><ul>{g.links(7)}</ul></div></nav><main id="dokuwiki__content"><div class="pad group"><div class="pageId"><span>gates:one</span></div><div class="page group"><div id="dw__toc" class="dw__toc"><h3 class="toggle">Table of Contents</h3><div><ul class="toc">{g.links(4)}</ul></div></div>
<h1 class="sectionedit1">{esc(g.title)}</h1><div class="level1">{g.body()}</div><div class="secedit editbutton_section"><form><button>Edit</button></form></div></div><div class="docInfo"><bdi>gates/one.txt</bdi> · Last modified: {g.date} by <bdi>ola</bdi></div></div></main></div><footer id="dokuwiki__footer"><div class="license">Except where otherwise noted, content on this wiki is licensed under a share-alike licence</div></footer></div></div></body></html>"""


def shop_woocommerce(g):
    return f"""<!doctype html><html lang="en-GB">{g.head("Chandlery", "product")}<body class="product-template-default single-product woocommerce"><div id="page"><header id="masthead" class="site-header"><ul class="menu">{g.links(6, words=False)}</ul></header><div id="content"><nav class="woocommerce-breadcrumb"><a>Home</a> / <a>Ropes</a> / {esc(g.title)}</nav><main id="main" class="site-main"><div id="product-7" class="product type-product"><div class="summary entry-summary"><h1 class="product_title entry-title">{esc(g.title)}</h1><p class="price">£12.00</p><form class="cart"><button>Add to basket</button></form><div class="product_meta"><span class="sku_wrapper">SKU: R-7</span> <span class="posted_in">Category: <a>Ropes</a></span></div></div>
<div class="woocommerce-tabs"><ul class="tabs wc-tabs" role="tablist"><li><a href="#d">Description</a></li><li><a href="#r">Reviews (0)</a></li></ul><div class="woocommerce-Tabs-panel entry-content" id="tab-description"><h2>Description</h2>{g.body()}</div></div><section class="related products"><h2>Related products</h2><ul class="products">{g.cards(4, '<li class="product"><a><h2>{t}</h2><span>£{n}.00</span></a></li>')}</ul></section></div></main></div><footer id="colophon"><p>© Chandlery. Built with Storefront</p></footer></div></body></html>"""


def site_government(g):
    return f"""<!DOCTYPE html><html lang="en" class="govuk-template"><head><title>{esc(g.title)} - PORTAL</title></head><body class="govuk-template__body"><div id="global-cookie-message" class="gem-c-cookie-banner govuk-cookie-banner"><div><h2>Cookies on this site</h2><p>We use some essential cookies to make this website work. We would like to set additional cookies to understand how you use it.</p></div></div><a class="govuk-skip-link">Skip to main content</a><header class="govuk-header"><a>PORTAL</a>{g.links(4, "span", False)}</header>
<div id="wrapper" class="govuk-width-container"><div class="gem-c-breadcrumbs"><ol><li><a>Home</a></li><li><a>Environment</a></li></ol></div><main role="main" id="content" class="publication"><div class="govuk-grid-row"><div class="gem-c-title"><span class="gem-c-title__context">Guidance</span><h1>{esc(g.title)}</h1></div><div class="gem-c-metadata"><dl><dt>From:</dt><dd><a>Water Office</a></dd><dt>Published</dt><dd>{g.date}</dd></dl></div>
<div class="govuk-grid-column-two-thirds"><div class="gem-c-contents-list"><h2>Contents</h2><ol>{g.links(4)}</ol></div><div class="gem-c-govspeak govuk-govspeak"><div class="govspeak">{g.body()}</div></div></div><div class="govuk-grid-column-one-third"><div class="gem-c-related-navigation"><h2>Related content</h2><ul>{g.links(5)}</ul></div></div></div></main><div class="gem-c-feedback"><h2>Is this page useful?</h2><button>Yes</button></div></div><footer class="govuk-footer"><ul>{g.links(10, words=False)}</ul><span>All content is available under an open licence, except where otherwise stated</span></footer></body></html>"""


def site_university(g):
    return f"""<html><head><title>{esc(g.title)}</title></head><body><center><h2>Institute of Tidal Works</h2><a href=people.html>People</a> - <a href=pub.html>Publications</a> - <a href=teach.html>Teaching</a></center><hr><h1>{esc(g.title)}</h1><i>{g.author}, {g.date}</i>{g.body()}<hr><center><small>Maintained by the institute. <a href="mailto:w@x.example">webmaster</a></small></center></body></html>"""


ARTICLE = ("h2", "figure", "quote", "ul")
TEMPLATES = [
    (news_magazine, "en", 9, ARTICLE), (news_atomic, "en", 9, ("h2", "figure", "figure")), (news_table_2003, "en", 9, ()), (news_spanish, "es", 8, ("h2", "figure")),
    (news_russian, "ru", 8, ("h2",)), (news_japanese, "ja", 8, ("h2",)), (blog_blogspot, "en", 8, ("figure",)), (blog_substack, "en", 9, ("h2", "quote", "figure")),
    (blog_soup, "en", 8, ("pre", "ul")), (blog_polish, "pl", 7, ()), (docs_mkdocs, "en", 6, ("h2", "pre", "table")), (docs_learn, "en", 5, ("h2", "h2", "ul", "pre")),
    (docs_readme, "en", 5, ("h2", "pre", "ul")), (forum_vbulletin, "en", 1, ()), (forum_questions, "en", 1, ()), (wiki_doku, "en", 6, ("h2", "table", "ul")),
    (shop_woocommerce, "en", 3, ("ul", "table")), (site_government, "en", 6, ("h2", "ul")), (site_university, "en", 6, ("ul",)),
]
