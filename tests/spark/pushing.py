"""A data source that takes filters, as Spark's documents show it; importable, so that workers find it."""

from pyspark.sql.datasource import DataSource, DataSourceReader, LessThan


class PushingReader(DataSourceReader):
    def __init__(self):
        self.stop = 100

    def pushFilters(self, filters):  # noqa: N802 - Spark's name
        for one in filters:
            if isinstance(one, LessThan):
                self.stop = one.value
            else:
                yield one

    def read(self, partition):
        yield from ((number,) for number in range(self.stop))


class PushingSource(DataSource):
    @classmethod
    def name(cls):
        return "pushing"

    def schema(self):
        return "number int"

    def reader(self, schema):
        return PushingReader()
