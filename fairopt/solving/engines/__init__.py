"""Engines compute answers: through general solvers (`programs`), and by methods of our own."""
