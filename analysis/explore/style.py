"""How the page looks, and which keys it knows: part of the page itself, so that nothing has to be served beside it."""

from __future__ import annotations

# Dash starts with scripts within the page, and plotly.js compiles WebGL code: hence unsafe-inline and unsafe-eval. What
# matters is that nothing is loaded from, or sent to, anywhere else.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_STYLE = """
body { font: 14px/1.45 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #22303c; background: #fff; margin: 0; }
#page { --Dash-Fill-Interactive-Strong: #0072b2; padding: 14px 20px 40px; max-width: 2000px; margin: 0 auto; }
h1 { font-size: 20px; margin: 0 0 8px; }
h3 { font-size: 14px; margin: 14px 0 4px; }
p { margin: 4px 0; }
.soft { color: #5a6772; }
.form { background: #f4f7f9; padding: 10px 14px; border-radius: 6px; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(215px, 1fr)); gap: 8px 14px; align-items: end; }
.form .bar { margin: 10px 0 0; gap: 18px; }
.number { display: flex; align-items: center; gap: 6px; }
#enforce_walltime label { display: flex; align-items: center; gap: 6px; }
.main { margin-left: auto; min-width: 130px; }
.form label { display: block; font-size: 12px; color: #5a6772; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.field input { width: 100%; box-sizing: border-box; margin-top: 4px; }
input[type=text], input[type=number], input:not([type]) { font: inherit; padding: 4px 7px; border: 1px solid #c3ccd4;
        border-radius: 4px; background: #fff; }
button { font: inherit; padding: 5px 14px; border: 1px solid #0072b2; border-radius: 4px; background: #fff; color: #005a8e;
        cursor: pointer; }
button.main { background: #0072b2; color: #fff; font-weight: 600; }
button.link { border: 0; padding: 0 2px; margin-right: 8px; background: none; text-decoration: underline; }
button:focus-visible, input:focus-visible { outline: 2px solid #e69f00; outline-offset: 1px; }
#message { margin: 8px 0; padding: 6px 12px; border-left: 4px solid #b3261e; background: #fdf1f0; overflow-wrap: anywhere; }
#message:empty { display: none; }
#warned { margin: 8px 0; color: #7a4b00; }
#headlines { display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 10px 0 2px; }
#headlines span { color: #5a6772; margin-right: 6px; }
.columns { display: grid; grid-template-columns: minmax(0, 1.75fr) minmax(340px, 1fr); gap: 18px; align-items: start; }
@media (max-width: 1000px) { .columns { grid-template-columns: minmax(0, 1fr); } }
.bar { display: flex; align-items: center; gap: 8px; margin: 6px 0; flex-wrap: wrap; }
.grow { flex: 1 1 160px; }
.kind { display: inline-block; padding: 1px 8px; border-radius: 9px; color: #fff; font-weight: 600; background: #5a6772; }
.kind.start { background: #00734f; } .kind.reserve { background: #0072b2; } .kind.hold { background: #9a5b00; }
.kind.reject { background: #b3261e; }
.words { font-size: 16px; overflow-wrap: anywhere; }
.wide { max-height: 330px; overflow: auto; }
#steps table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 13px; }
#steps th, #steps td { padding: 2px 8px 2px 0; border-bottom: 1px solid #e4e8ec; text-align: right; white-space: nowrap;
        vertical-align: top; }
#steps th:first-child, #steps td:first-child, #steps th:last-child, #steps td.text, #changes th { text-align: left; }
#steps td.text { white-space: normal; }
#steps tr.now td { background: #fff4dc; }
.nodes { display: flex; flex-wrap: wrap; gap: 3px; }
.cell { width: 15px; height: 22px; border: 1px solid #9aa5b1; border-radius: 2px; box-sizing: border-box; }
.cell.OFF { background: #4a4a4a; } .cell.SWITCHING_ON { background: #009e73; } .cell.SWITCHING_OFF { background: #8a8a8a; }
.cell.FAILED { background: #b3261e; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace;
      background: #f4f7f9; padding: 8px 12px; border-radius: 4px; margin: 6px 0; }
"""

# The arrow keys step, but not where they already have a meaning: in fields, menus and the slider.
_KEYS = """
document.addEventListener("keydown", event => {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (at.closest("input, textarea, select, [role=slider], [role=listbox], [role=combobox], .dash-dropdown")) return;
  const button = document.getElementById({ArrowLeft: "previous", ArrowRight: "next"}[event.key]);
  if (button) { event.preventDefault(); button.click(); }
});
"""

INDEX = f"""<!DOCTYPE html>
<html lang="en">
<head>
{{%metas%}}
<title>{{%title%}}</title>
{{%css%}}
<style>{_STYLE}</style>
</head>
<body>
{{%app_entry%}}
<footer>
{{%config%}}
{{%scripts%}}
{{%renderer%}}
<script>{_KEYS}</script>
</footer>
</body>
</html>
"""
