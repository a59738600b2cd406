"""The charts: one file a question, each from the values of a result to a chart or a reason why not."""
