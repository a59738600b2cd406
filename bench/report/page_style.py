"""The rules of the page around the charts."""

PAGE_CSS = """
*{box-sizing:border-box}
html{color-scheme:light dark;scroll-behavior:auto}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
overflow-wrap:anywhere}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:3px;border-radius:3px}
.skip{position:absolute;left:-999px;top:0;padding:.5rem 1rem;background:var(--ground);z-index:1}
.skip:focus{left:0}
header,nav,main,footer{max-width:98rem;margin:0 auto;padding:0 clamp(1rem,3vw,2.5rem)}
header{padding-top:1.75rem}
h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .25rem}
h3{font-size:1rem;line-height:1.35;margin:0}
p{margin:.25rem 0}
.soft{color:var(--soft)}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.15rem 0;padding:0;
font-size:.875rem}
nav>ul{display:block;margin:1rem 0}
nav>ul>li{margin:.35rem 0}
section{border-top:1px solid var(--grid);padding:1.5rem 0 .5rem;margin-top:1.25rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.75rem;margin:1rem 0;
padding:0}
.tiles div{background:var(--wash);border-radius:8px;padding:.6rem .8rem}
.tiles dt{font-size:.8125rem;color:var(--soft)}
.tiles dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums;line-height:1.3}
.tiles dd+dd{font-size:.8125rem;font-weight:400;color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,35rem),1fr));gap:2rem 2.5rem;
margin:1.25rem 0;align-items:start}
figure{margin:0;min-width:0;max-width:54rem;container-type:inline-size}
figure>p,figcaption p{font-size:.875rem;color:var(--soft);margin:.15rem 0 .75rem}
svg.chart{display:block;width:100%;height:auto;overflow:visible}
.narrow{display:none}
@media (max-width:32rem){.wide{display:none}.narrow{display:block}}
@container (max-width:30rem){.wide{display:none}.narrow{display:block}}
@container (min-width:30.01rem){.wide{display:block}.narrow{display:none}}
details{margin:.5rem 0;font-size:.875rem}
summary{cursor:pointer;color:var(--soft);padding:.15rem 0;width:fit-content}
.scroll{overflow:auto;max-height:26rem;border:1px solid var(--grid);border-radius:6px}
table{border-collapse:collapse;font-size:.8125rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap;
overflow-wrap:normal}
th:first-child,td:first-child{text-align:left}
td.words{text-align:left;white-space:normal;min-width:14rem}
thead th{position:sticky;top:0;background:var(--wash);font-weight:600}
tbody th{font-weight:400}
.partial,.none{border-left:4px solid var(--warn);background:var(--wash);padding:.5rem .8rem;
border-radius:0 6px 6px 0;
margin:.75rem 0;font-size:.9375rem}
.notes{max-width:60rem;font-size:.9375rem;padding-left:1.2rem}
footer{border-top:1px solid var(--grid);margin-top:2rem;padding-top:1rem;padding-bottom:2rem;
font-size:.875rem;
color:var(--soft)}
@media print{nav,.skip{display:none}figure{break-inside:avoid}}
"""

PAGE_COLOURS = """
:root{--link:#2f5fc4;--warn:#ac2c2e}
@media (prefers-color-scheme:dark){:root{--link:#8ab8ff;--warn:#e87b2e}}
"""
