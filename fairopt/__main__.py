"""`python -m fairopt`: the command line, where the script is not on the path."""

from fairopt.cli import main

if __name__ == "__main__":
    main()
