// The arrow keys step, but not where they already have a meaning: in fields, menus and the slider.
document.addEventListener("keydown", event => {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (at.closest("input, textarea, select, [role=slider], [role=listbox], [role=combobox], .dash-dropdown")) return;
  const button = document.getElementById({ArrowLeft: "previous", ArrowRight: "next"}[event.key]);
  if (button) { event.preventDefault(); button.click(); }
});
