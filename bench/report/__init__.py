"""Results as pictures: one page of HTML without a script, and a file of SVG for every chart."""
