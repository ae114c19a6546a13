"""From rows to lanes: the route, plans compiled to columns, routers in tasks."""
