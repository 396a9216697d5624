package document

// style is the style sheet of the pages: one column to read, contents beside it
// where there is room, light or dark as the reader has it, and plain on paper. Rows of
// the tables of class rows become lists where the window is narrow.
const style = `
:root{--paper:#fff;--ink:#1f2733;--soft:#5c6675;--rule:#dfe3e9;--shade:#f5f7f9;--link:#1d56b3;--tag:#e9edf3;--parley-paper:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e6e9ef;--soft:#a0abba;--rule:#2d3542;--shade:#1b212b;--link:#8fb6ff;--tag:#2a3240;--parley-paper:#14181f}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif;display:grid;grid-template-columns:minmax(12rem,17rem) minmax(0,62rem);gap:0 3rem;justify-content:center;padding:0 1.5rem}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:2rem 0;font-size:.875rem}
nav h2{font-size:1rem;margin:.5rem 0;border:0;padding:0}
nav ul{list-style:none;margin:0 0 1rem;padding:0}
nav ul ul{margin:.1rem 0 .5rem .9rem}
nav a{color:var(--soft);display:block;padding:.12rem 0;overflow-wrap:anywhere}
nav a:hover{color:var(--link)}
main{padding:2rem 0 6rem;min-width:0}
h1{font-size:2rem;line-height:1.2;margin:0 0 .75rem;overflow-wrap:anywhere}
h1 small{font-size:1rem;font-weight:500;color:var(--soft)}
h2{font-size:1.35rem;margin:3rem 0 1rem;padding-bottom:.35rem;border-bottom:1px solid var(--rule)}
h3{font-size:1.1rem;margin:0 0 .5rem;overflow-wrap:anywhere}
header+section h2{margin-top:1.5rem}
header:not(:first-child){margin-top:5rem}
p{margin:.5rem 0 .75rem;max-width:46rem;overflow-wrap:anywhere}
.lead{font-size:1.1rem}
.quiet{color:var(--soft);font-size:.9rem}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code,pre,.digest{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace}
code{font-size:.9em}
.digest{font-size:.75rem;color:var(--soft);overflow-wrap:anywhere}
.type{overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:0 0 1rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.45rem .9rem .45rem 0;border-bottom:1px solid var(--rule)}
thead th{color:var(--soft);font-weight:500;font-size:.8rem;white-space:nowrap}
tbody th{font-weight:600;white-space:nowrap}
td.quiet{white-space:nowrap}
figure{margin:0 0 1rem}
figure svg{display:block}
.wide>.parley-drawing{max-width:max(100%,36rem)}
.ways{display:flex;flex-wrap:wrap;gap:1rem}
.ways figure{margin:0;border:1px solid var(--rule);border-radius:8px;padding:.5rem .25rem 0;min-width:0;max-width:100%;overflow-x:auto}
.ways figcaption{font-size:.875rem;font-weight:600;padding:.25rem 1rem 0;max-width:22rem;overflow-wrap:anywhere}
article{border:1px solid var(--rule);border-radius:8px;padding:1.1rem 1.25rem .6rem;margin:0 0 1.25rem;break-inside:avoid}
article:target{border-color:var(--link);box-shadow:0 0 0 1px var(--link)}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1.25rem;margin:.5rem 0 1rem;font-size:.9rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.tag{font:500 .72rem/1 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;background:var(--tag);color:var(--soft);border-radius:999px;padding:.22rem .55rem;white-space:nowrap;vertical-align:middle}
pre{background:var(--shade);border:1px solid var(--rule);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;font-size:.85rem;line-height:1.5;margin:0 0 1rem;tab-size:2}
pre code{font-size:inherit}
.example figcaption{font-size:.8rem;color:var(--soft);margin:0 0 .25rem}
.role{display:inline-block;width:1.5rem;height:.95rem;border-radius:4px;border:1.3px solid;margin-right:.5rem;vertical-align:-.1rem}
.r0.role{color:#2a5bb8;background:linear-gradient(90deg,currentColor 6px,transparent 6px)}
.r1.role{color:#a8590b;background:linear-gradient(270deg,currentColor 6px,transparent 6px)}
.r2.role{color:#1c7a45;background:linear-gradient(180deg,currentColor 5px,transparent 5px)}
.r3.role{color:#7a3fae;background:linear-gradient(0deg,currentColor 5px,transparent 5px)}
@media (prefers-color-scheme:dark){.r0.role{color:#8fb6ff}.r1.role{color:#f2ad62}.r2.role{color:#74d39a}.r3.role{color:#cf9ff5}}
@media (max-width:60rem){body{display:block;padding:0 1rem}nav{position:static;max-height:none;padding:1.25rem 0 0}nav ul ul{display:none}main{padding-top:1rem}h1{font-size:1.6rem}}
@media (max-width:40rem){.rows thead{display:none}.rows tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--rule)}.rows th,.rows td{display:block;border:0;padding:.1rem 0}.rows td{position:relative;padding-left:7rem;overflow-wrap:anywhere}.rows td:empty{display:none}.rows td::before{content:attr(data-of);position:absolute;left:0;color:var(--soft);font-size:.8rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--rule:#bbb;--shade:#fff;--link:#000;--tag:#eee;--parley-paper:#fff}body{display:block;font-size:10.5pt;padding:0}nav{display:none}main{padding:0}.wide,.ways figure,pre{overflow:visible}.wide>.parley-drawing{max-width:100%}pre{white-space:pre-wrap}figure,tr,dl{break-inside:avoid}.example,article{break-inside:auto}article{border-width:1px 0 0;border-radius:0;padding:.75rem 0 0}h2,h3,h2+.quiet,figcaption{break-after:avoid}}
`
