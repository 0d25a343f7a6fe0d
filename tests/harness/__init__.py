"""What the end-to-end tests stand on: a real Jupyter client, processes, a browser."""
