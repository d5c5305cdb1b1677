"""What users look at: tables on terminals and pages, notebooks, the interactive page."""
