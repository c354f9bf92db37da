"""`python -m rapidtask`."""

from rapidtask.cli import main

main()
