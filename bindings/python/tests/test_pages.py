"""The examples of the page and the notebook do what they say."""

import contextlib
import io
import json
import os
import pathlib
import re
import unittest

HERE = pathlib.Path(__file__).resolve().parent.parent
URL = os.environ["TARE_URL"]


class Pages(unittest.TestCase):
    def test_the_examples_of_the_page_run(self):
        blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
        self.assertEqual(len(blocks), 4)
        names, said = {}, io.StringIO()
        for block in blocks:
            block = block.replace("http://127.0.0.1:8080/", URL)
            # A machine that is too busy is no fault of the page.
            block = block.replace('duration="1s")\n', 'duration="1s", accept_invalid=True)\n', 1)
            with contextlib.redirect_stdout(said):
                exec(compile(block, "README.md", "exec"), names)
        lines = said.getvalue().splitlines()
        self.assertRegex(lines[0], r"^(VALID|DEGRADED|INVALID) 200 done$")
        self.assertRegex(lines[1], r"^p99 [0-9.]+ ms")
        self.assertRegex(lines[2], r"^came true: latency.p99 > 1us$|^the generator was the limit: INVALID$")
        self.assertEqual(lines[-2:], ["32 frames, 31 in the last byte", "32 pass"])
        self.assertEqual((names["result"].totals.sent, names["sent"]), (500, 32))

    def test_the_notebook_plots_a_run(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("the notebook: matplotlib is not installed; pip install matplotlib")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        notebook = json.loads((HERE / "examples" / "plot.ipynb").read_text())
        names, said = {}, io.StringIO()
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        with contextlib.redirect_stdout(said):
            for number, cell in enumerate(cells):
                exec(compile("".join(cell["source"]), f"cell {number + 1}", "exec"), names)
        self.assertGreater(names["result"].totals.done, 0)
        self.assertGreaterEqual(len(said.getvalue().splitlines()), 3)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        self.assertEqual([len(figure.axes) for figure in figures], [2, 1])
        for figure in figures:
            self.assertTrue(all(len(line.get_xdata()) > 1 for axis in figure.axes for line in axis.lines))
            figure.savefig(io.BytesIO(), format="png")
        plt.close("all")


if __name__ == "__main__":
    unittest.main()
