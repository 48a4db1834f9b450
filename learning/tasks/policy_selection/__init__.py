"""PolicySelection: choose which classic policy schedules the queue now (Herrera et al. 2021)."""
