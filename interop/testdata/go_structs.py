"""The classes that a Python author would write for the messages of gostruct_test.go."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Dict, List, Literal, Optional, Tuple, Union
from uuid import UUID

from pydantic.v1 import UUID4
from pydantic.v1.color import Color as Color_
from uagents_core.models import Field, Model


class Grade(IntEnum):
    a = 1
    b = 2
    c = 3


class Color(str, Enum):
    red = "red"
    green = "green"


class Item(Model):
    name: str


# Embedded structs


class Base(Model):
    id: int
    note: str = ""


class Middle(Base):
    level: Grade


class Derived(Middle):
    extra: List[str]


# Generics


class Page(Model):
    items: List[Item]
    first: Optional[Item]
    seen: Dict[int, Optional[Item]]


Page.__name__ = "Page[Item]"


class Shelf(Model):
    page: Page
    Pages: List[Page]


# Pointers in lists and maps


class Pointers(Model):
    list: List[Optional[int]]
    map: Dict[str, Optional[datetime]]
    deep: List[List[Optional[Item]]]
    grades: List[Optional[Grade]]
    two: Optional[int]


# Arrays and structs as tuples


line = Tuple[int, Optional[Item], Grade, Any]


class Arrays(Model):
    three: Tuple[int, int, int]
    none: Tuple[()]
    mixed: line
    lines: List[line]
    days: Tuple[date, date]
    by_key: Dict[str, line]


# Aliases


class Aliased(Model):
    user_name: str = Field(alias="userName")
    when: Optional[int] = Field(3, alias="at-time")


# Enums


class Graded(Model):
    color: Color
    grade: Grade = Grade.b
    maybe: Optional[Color] = Field(description="perhaps")
    colors: List[Color]
    by_name: Dict[str, Grade] = Field(title="By")
    tint: Color = Field(Color.red, title="Tint")


# A union told apart by a tag


class Circle(Model):
    kind: Literal["circle", "disc"]
    radius: float


class Square(Model):
    kind: Literal["square"]
    side: int


class Shapes(Model):
    one: Union[Circle, Square] = Field(discriminator="kind")
    tried: Union[Circle, Square]
    many: List[Union[Circle, Square]]
    maybe: Optional[Union[Circle, Square]] = Field(discriminator="kind", description="one, or none")


# Fields that may be left out


class Omitted(Model):
    a: Optional[str]
    b: Optional[List[int]]
    c: Optional[Dict[str, Any]]
    d: Any
    e: Optional[Item]
    f: Optional[bool]
    g: Optional[float] = Field(...)
    h: Any = Field(...)


# Without a title


class Untitled(Model):
    a: str
    b: Item = Field(description="an item")
    c: int = Field(1, title="See")
    class Config:
        def schema_extra(schema):
            del schema["properties"]["a"]["title"]


# Defaults


class Defaults(Model):
    text: str = "a, 'b'"
    number: float = 1
    price: Decimal = Field(Decimal("1.50"), gt=0)
    at: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    for_: timedelta = timedelta(seconds=90.5)
    id: UUID4 = UUID("0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11")
    raw: bytes = b"xyz"
    list: List[str] = ["a", "b"]
    map: Dict[str, int] = {}
    literal: Literal["x", "y"] = "y"
    numbers: Literal[1, 2]
    email: Color_ = "red"
    nested: Dict[str, List[Item]]
