"""The inventory as last observed: nodes and racks."""
