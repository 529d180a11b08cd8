"""Plans how a model trains from the command line: python -m shardwright.torch.plan."""

import sys

from shardwright.torch.recipes.command import main

if __name__ == "__main__":
    sys.exit(main())
