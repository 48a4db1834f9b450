"""How the pages of :mod:`analysis.stepping` look: their frame, and nothing that a run could change."""

from __future__ import annotations

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"

BODY = """\
<h1>{heading}</h1>
<p class="soft">{lead}</p>
{notes}
{pages}
<noscript><p class="note">This page needs JavaScript.</p></noscript>
<div class="bar" role="group" aria-label="steps">
<button id="first" title="first step (Home)">|◀ First</button>
<button id="back" title="one step back (left arrow key)">◀ Back</button>
<button id="forward" title="one step forward (right arrow key)">Forward ▶</button>
<button id="last" title="last step (End)">Last ▶|</button>
<input id="slider" type="range" min="{first}" max="{last}" step="1" value="{first}" aria-label="step">
<label>Step <input id="number" type="number" min="1" step="1" value="{first}"></label>
<button id="play" title="go on by itself (space)">▶ Play</button>
<label>Speed <select id="speed"><option value="0.5">a step in 2 s</option><option value="1" selected>1 step/s</option>
<option value="3">3 steps/s</option><option value="10">10 steps/s</option></select></label>
</div>
<div class="columns">
<main>
<p class="clock"><span class="soft">Clock</span> <b id="clock"></b></p>
<section id="decision" aria-live="polite"></section>
<h2 id="nodes-heading"></h2>
<div id="nodes"></div>
{legend}
<h2>The schedule so far, one row per core</h2>
<div id="schedule"></div>
</main>
<aside>
<section id="queue"></section>
<section id="running"></section>
</aside>
</div>
<footer>Keys: ← and → step, Home and End go to the first and the last step, space plays. The queue is in the order in which
jobs came; a dashed outline is where the job starts. Times are simulated seconds.</footer>
<script type="application/json" id="run">{data}</script>
<script>{script}</script>
"""

STYLE = """
:root { color-scheme: light; overflow-y: scroll; }
body { font: 15px/1.45 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #22303c; background: #fff;
       margin: 0 auto; padding: 18px 24px 40px; max-width: 1500px; }
h1 { font-size: 22px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 18px 0 6px; }
p { margin: 4px 0; overflow-wrap: anywhere; }
.soft, footer { color: #5a6772; }
.note { color: #7a4b00; }
footer { font-size: 13px; margin-top: 26px; border-top: 1px solid #e4e8ec; padding-top: 8px; }
nav { margin: 8px 0; line-height: 1.9; }
nav a { color: #005a8e; margin: 0 5px; font-variant-numeric: tabular-nums; }
nav a[aria-current] { font-weight: 700; color: #22303c; text-decoration: none; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin: 10px 0; padding: 8px 12px;
       background: #f4f7f9; border-radius: 6px; position: sticky; top: 0; z-index: 1; }
.bar #slider { flex: 1 1 180px; accent-color: #0072b2; }
.bar #number { width: 84px; }
button, select, input[type=number] { font: inherit; padding: 4px 11px; border: 1px solid #0072b2; border-radius: 4px;
       background: #fff; color: #005a8e; }
select, input[type=number] { border-color: #9aa5b1; color: #22303c; padding: 3px 6px; }
button { cursor: pointer; }
button[aria-disabled=true] { border-color: #c3ccd4; color: #7a8793; cursor: default; }
:focus-visible { outline: 3px solid #e69f00; outline-offset: 1px; }
.columns { display: grid; grid-template-columns: minmax(0, 1.15fr) minmax(360px, 1fr); gap: 30px; align-items: start; }
@media (max-width: 900px) { .columns { grid-template-columns: minmax(0, 1fr); } }
.clock b { font-size: 22px; font-variant-numeric: tabular-nums; }
#decision { min-height: 118px; }
.kind { display: inline-block; padding: 1px 9px; border-radius: 9px; color: #fff; font-weight: 600; background: #5a6772; }
.kind.start { background: #00734f; } .kind.reserve { background: #0072b2; } .kind.hold { background: #9a5b00; }
.kind.reject { background: #b3261e; }
.words { font-size: 18px; font-weight: 600; }
svg { width: 100%; max-width: 860px; height: auto; display: block; }
svg text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; pointer-events: none; }
svg.many text { font-size: 11px; }
svg text.on-dark { paint-order: stroke; stroke: #22303c; stroke-width: 3px; }
svg path { fill-rule: nonzero; }
.target { fill: none; stroke: #000; stroke-width: 2.5; stroke-dasharray: 5 3; }
.hand { stroke: #b3261e; stroke-width: 1.6; }
.legend span { margin-left: 14px; white-space: nowrap; }
.legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px; border: 1px solid #22303c; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 10px 2px 0; border-bottom: 1px solid #e4e8ec; text-align: right; white-space: nowrap;
         vertical-align: top; }
th { color: #5a6772; font-weight: 600; }
th.text, td.text { text-align: left; white-space: normal; overflow-wrap: break-word; }
td.job { text-align: left; max-width: 15em; overflow: hidden; text-overflow: ellipsis; }
tr.now td { background: #fff4dc; font-weight: 600; }
"""
