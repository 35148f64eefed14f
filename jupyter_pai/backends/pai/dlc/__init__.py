"""Jobs on PAI-DLC, in a workspace of a PAI account."""
