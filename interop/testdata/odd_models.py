"""Models whose schemas have the quirks that random models do not reach.

Every subclass of Model that stands here under its own name is compared, in this order.
"""

import collections
import dataclasses
import re
import typing
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path
from typing import (
    Any, Callable, DefaultDict, Deque, Dict, FrozenSet, Generic, Iterable, List, Literal, Mapping, NamedTuple, NewType,
    Optional, Pattern, Sequence, Set, Tuple, Type, TypeVar, Union,
)
from uuid import UUID, uuid4

from pydantic.v1 import (
    UUID1, UUID3, UUID4, UUID5, AnyHttpUrl, AnyUrl, BaseModel, ByteSize, ConstrainedStr, DirectoryPath, FilePath, FutureDate,
    HttpUrl, Json, NegativeFloat, NonNegativeInt, PastDate, PaymentCardNumber, PositiveInt, PostgresDsn, SecretBytes, SecretStr,
    StrictBool, StrictInt, StrictStr, conbytes, condate, condecimal, confloat, confrozenset, conint, conlist, conset, constr,
)
from pydantic.v1.color import Color
from pydantic.v1.generics import GenericModel
from typing_extensions import Annotated, NotRequired, TypedDict
from uagents_core.models import Field, Model


# Enums


class Shade(Enum):
    light = "light"
    dark = "dark"


class Size(str, Enum):
    """How large.

    In words.
    """

    small = "s"
    large = "l"


class Rank(IntEnum):
    low = 1
    high = 2


class Ratio(float, Enum):
    half = 0.5
    whole = 1.0


class Blob(bytes, Enum):
    a = b"a"


class Pair(tuple, Enum):
    xy = (1, "y")


class Assorted(Enum):
    number = 1
    text = "two"
    real = 2.5
    nothing = None
    flag = True
    items = (1, "a")


class Bits(Flag):
    a = 1
    b = 2


class Größe(str, Enum):
    groß = "groß"
    klein = "klein"


class EnumPlaces(Model):
    one: Shade
    lists: List[List[Shade]]
    maybe_inside: List[Optional[Shade]]
    maybe_outside: Optional[List[Shade]]
    in_map: Dict[str, Shade]
    map_of_maybe: Dict[str, Optional[Rank]]
    map_of_lists: Dict[str, List[Rank]]
    keys: Dict[Rank, int]
    tuple_of: Tuple[Shade, Rank]
    tuple_any: Tuple[Shade, ...]
    set_of: Set[Shade]
    frozen: FrozenSet[Rank]
    union: Union[Shade, int]
    maybe_union: Optional[Union[Shade, Rank]]
    deque: Deque[Shade]


class EnumWords(Model):
    described: Shade = Field(description="a shade")
    defaulted: Shade = Shade.light
    titled: Size = Field(title="The Size")
    all_of_it: Rank = Field(Rank.low, title="T", description="d", example=1)
    list_described: List[Shade] = Field(description="shades")
    list_titled: List[Shade] = Field([Shade.dark], title="Shades")
    map_defaulted: Dict[str, Rank] = {"a": Rank.high}
    tuple_described: Tuple[Shade, Rank] = Field((Shade.dark, Rank.low), description="both")
    union_described: Union[Shade, int] = Field(Shade.dark, description="either")
    optional_described: Optional[Rank] = Field(None, description="maybe")
    nested_described: List[List[Shade]] = Field(description="deep")
    extra: Shade = Field(example="light")
    extra_list: List[Shade] = Field(example=["light"])


class EnumKinds(Model):
    ratio: Ratio
    blob: Blob
    pair: Pair
    assorted: Assorted
    bits: Bits
    größe: Größe
    größen: List[Größe] = [Größe.klein]


# Literals


class LiteralPlaces(Model):
    field: Literal["a", 1]
    maybe: Optional[Literal["a", 1, True]]
    in_list: List[Literal["a", 1]]
    in_set: Set[Literal[1, "a"]]
    in_map: Dict[str, Literal["a", 1]]
    in_tuple: Tuple[Literal["a", 1], Literal["b", 2]]
    in_union: Union[Literal["a", 1], float]
    in_two_unions: Union[Literal["a", 1], Literal[2.5, "b"], None]
    deep: List[Dict[str, List[Literal["a", 1]]]]
    deep_tuple: Tuple[List[Literal["a", 1]], Dict[str, Tuple[Literal["a", 1]]]]
    deep_union: List[Union[Literal["a", 1], List[int]]]
    union_of_lists: Union[List[Literal["a", 1]], Dict[str, Set[Literal["z", 1]]], Tuple[datetime, Optional[Literal["a", 1]]]]
    list_of_maybe: List[Optional[Literal["a", 1]]]
    of_one_kind: Union[Literal["a"], Literal["b"], int]
    with_default: Literal["a", 1] = 1
    with_words: List[Literal["a", 1]] = Field(["a"], description="words", title="T")
    userName: List[Literal["a", 1]]
    quotes: Union[Literal["it's", 1], Literal['"both" it\'s', 2], Literal["back\\slash\n\t\r\x00\x7f\xa0é😀\u200b", 3]]
    aliased: List[Literal["a", 1]] = Field(alias="other-name")
    aliased_union: Union[Literal["a", 1], int] = Field(alias="otherUnion")


class LiteralBytes(Model):
    bytes_and_text: Literal[b"x", "y"]
    in_list: List[Literal[b"x", "y"]]


class LiteralNone(Model):
    only: Literal[None]
    field: Literal["a", None]
    mixed: Literal["a", 1, None]
    in_list: List[Literal["a", None]]
    mixed_in_list: List[Literal["a", 1, None]]
    in_union: Union[Literal["a", None], int]
    in_tuple: Tuple[Literal["a", None], Literal[None]]
    in_map: Dict[str, Literal[1, None]]


class LiteralEnum(Model):
    member: Literal[Shade.light]
    mixed: Literal[Rank.low, "x"]
    of_two: List[Literal[Shade.light, Rank.low]]
    nested: Literal[Literal["a", "b"], "c"]
    flags: Literal[True, False]
    union: Union[Literal[Rank.low, "x"], float]


# Limits


class Limits(Model):
    list_ge: List[int] = Field(ge=0)
    map_lt: Dict[str, float] = Field(lt=2.5)
    list_len: List[str] = Field(min_length=1, max_length=9, regex="^a")
    tuple_ge: Tuple[int, int] = Field(ge=1)
    union_ge: Union[int, float] = Field(ge=1)
    optional_ge: Optional[int] = Field(None, ge=1, le=2**70)
    nested_ge: List[List[int]] = Field(ge=3)
    items: List[int] = Field(min_items=1, max_items=3, unique_items=True)
    not_unique: List[int] = Field(unique_items=False)
    set_items: Set[int] = Field(min_items=1)
    items_and_ge: List[int] = Field(min_items=1, ge=0)
    multiple: float = Field(multiple_of=0.5)
    bytes_len: bytes = Field(min_length=1)
    bool_free: bool = True


class LimitedTypes(Model):
    decimals: condecimal(gt=Decimal("1.50"), le=Decimal(10), max_digits=5, decimal_places=2)
    decimal_field: Decimal = Field(Decimal("2.0"), ge=Decimal("1E+3"), multiple_of=Decimal("0.1"))
    large: conint(lt=10**30)
    small: confloat(gt=1e-7, lt=1e300, multiple_of=0.1)
    infinite: confloat(lt=float("inf"))
    items: conlist(int, min_items=1, max_items=2)
    distinct: conlist(conint(gt=1), unique_items=True)
    set_: conset(str, min_items=2)
    frozen: confrozenset(str, max_items=2)
    text: constr(min_length=1, max_length=2, regex=r"^\w+$", strip_whitespace=True)
    raw: conbytes(min_length=3)
    days: condate(gt=date(2026, 1, 1))
    past: PastDate
    future: FutureDate
    positive: PositiveInt
    natural: NonNegativeInt
    negative: NegativeFloat
    strict: StrictInt
    strict_text: StrictStr
    strict_bool: StrictBool
    strict_limited: StrictStr = Field(max_length=4)
    nested: List[conlist(conlist(int, max_items=1), min_items=1)]
    by_key: Dict[str, conlist(int, min_items=1)]
    either: Union[conint(ge=1), constr(max_length=3), conlist(int, min_items=1)]


class Constants(Model):
    text: str = Field("x", const=True)
    number: int = Field(3, const=True, description="always")
    items: List[int] = Field([1, 2], const=True)
    union: Union[int, str] = Field("y", const=True)
    maybe: Optional[int] = Field(None, const=True)
    enum: Shade = Field(Shade.dark, const=True)
    free: Any = Field({"a": 1}, const=True)


# Models in models


class Small(Model):
    """A small one."""

    a: int = 1


class Keys(Model):
    pattern: Dict[constr(regex=r"^[a-z]+$"), int]
    pattern_any: Dict[constr(regex="x"), Any]
    length: Dict[constr(max_length=3), int]
    pattern_model: Dict[constr(regex="^m"), Small]
    pattern_enum: Dict[constr(regex="^e"), Shade]
    pattern_literal: Dict[constr(regex="^l"), Literal["a", 1]]
    numbers: Dict[int, str]
    dates: Dict[date, str]
    tuples: Dict[Tuple[int, int], str]
    any_key: Dict[Any, int]
    mapping: Mapping[str, int]
    defaults: DefaultDict[str, List[int]]
    counter: typing.Counter[str]
    bare: dict
    bare_typing: Dict


class Inner(Model):
    small: Small
    smalls: List[Small]


class NestedWords(Model):
    bare: Small
    described: Small = Field(description="d")
    titled: Small = Field(title="T")
    titled_alike: Small = Field(title="Titled Alike")
    defaulted: Small = Small(a=2)
    maybe: Optional[Small] = Field(None, description="d")
    extra: Small = Field(example={"a": 1})
    union: Union[Small, Inner] = Field(Small(), description="d")
    maybe_union: Optional[Union[Small, Inner]] = None
    list_described: List[Small] = Field([Small()], description="d")
    map_described: Dict[str, Small] = Field({"x": Small()}, title="T")
    tuple_of: Tuple[Small, List[Inner]]


class Root(Model):
    """A list with a name."""

    __root__: List[int]


class RootScalar(Model):
    __root__: int = Field(5, ge=1, description="of the field")


class RootText(Model):
    __root__: constr(regex="^a")


class RootModel(Model):
    __root__: Small


class RootDescribed(Model):
    """Of the class."""

    __root__: Small = Field(description="of the field")


class RootDefault(Model):
    __root__: Small = Small(a=3)


class RootEnum(Model):
    __root__: Shade


class RootEnumDefault(Model):
    __root__: Shade = Shade.dark


class RootLiteral(Model):
    __root__: Literal["a", "b"]


class RootLiteralDoc(Model):
    """One of two."""

    __root__: Literal["a", "b"]


class RootMixed(Model):
    __root__: Literal["a", 1]


class RootMap(Model):
    __root__: Dict[str, Root]


class RootUnion(Model):
    __root__: Union[Small, Root, int]


class RootAny(Model):
    __root__: Any


class RootOptional(Model):
    __root__: Optional[int]


class RootTree(Model):
    __root__: Dict[str, Union[int, "RootTree"]]


class Roots(Model):
    root: Root
    scalar: RootScalar
    text: List[RootText]
    model: RootModel
    described: RootDescribed
    default: RootDefault
    enum: RootEnum
    enum_default: RootEnumDefault
    literal: RootLiteral
    literal_doc: RootLiteralDoc
    mixed: RootMixed
    map: RootMap
    union: RootUnion
    any: RootAny
    optional: RootOptional
    tree: RootTree
    with_default: Root = Root(__root__=[1])
    with_literal: RootLiteral = RootLiteral(__root__="a")
    with_words: RootLiteralDoc = Field(description="d")


class Tree(Model):
    value: int
    left: Optional["Tree"]
    children: List["Tree"] = []
    by_name: Dict[str, "Tree"] = {}


class Even(Model):
    odd: Optional["Odd"]


class Odd(Model):
    even: Optional[Even]
    both: Union[Even, "Odd", None]


Even.update_forward_refs()


class Holder(Model):
    tree: Tree
    even: Even = Field(description="d")


T = TypeVar("T")
U = TypeVar("U")


class Page(GenericModel, Generic[T]):
    """A page."""

    items: List[T]
    first: Optional[T]


class Either(GenericModel, Generic[T, U]):
    value: Union[T, U]


class Generics(Model):
    numbers: Page[int]
    smalls: Page[Small]
    pages: Page[Page[str]]
    either: Either[int, Optional[Small]]
    open: Page


class GenericMessage(Model, GenericModel, Generic[T]):
    payload: T


GenericOfSmall = GenericMessage[Small]


def named(name, module, **fields):
    """A class of a name that another module also has."""
    cls = type(name, (Model,), {"__annotations__": fields, "__module__": module, "__qualname__": name})
    return cls


class Twins(Model):
    one: named("Twin", "shop.models", a=int)
    other: named("Twin", "bank.models", b=str)
    others: List[named("Twin", "third", c=str)]
    größe_one: named("Größe", "shop", d=int)
    größe_other: Größe


def local_twin():
    class Twin(Model):
        a: str

    return Twin


class LocalTwins(Model):
    one: local_twin()
    other: named("Twin", "shop.models", a=int)


Homonym = named("Homonym", "shop", inner=named("Homonym", "bank", a=int))


class Base(Model):
    """Of the base."""

    a: int
    b: str = "x"

    class Config:
        title = "TitledBase"
        extra = "forbid"


class Heir(Base):
    b: int
    c: float


class HeirDoc(Base):
    """Of the heir."""

    class Config:
        extra = "ignore"


class Extras(Model):
    a: int = Field(..., required=True, foo={"x": [1, None, 2.5]}, deprecated=True, nullable=True, type="odd", enum=["a"])
    b: str = Field(enum=["a", "b"])
    c: str = Field(enum=[1, 2])
    d: str = Field(format="uri")
    e: int = Field(format="int32", minimum=3)
    f: bool = Field(format="yesno")
    g: Any = Field(type="string", format="odd")
    h: List[int] = Field(items={"x": 1}, uniqueItems=False)
    i: Dict[str, int] = Field(additionalProperties=False, patternProperties={})
    j: str = Field(minLength="3", pattern=5)
    k: Optional[Any] = Field(anyOf=[{"type": "string"}, {"type": "null"}])
    l: str = Field(**{"$comment": "c", "const": "x"})

    class Config:
        schema_extra = {"example": {"a": 1}, "additionalProperties": True, "x-order": [3, 1]}


class ExtrasChanged(Model):
    a: int
    b: str
    small: Small

    class Config:
        @staticmethod
        def schema_extra(schema, model):
            schema["required"] = ["b"]
            schema["properties"]["a"].pop("title")
            schema["properties"]["b"]["title"] = ""
            schema["properties"]["c"] = {}
            schema["description"] = "changed"


class ExtrasRemoved(Model):
    a: int

    class Config:
        @staticmethod
        def schema_extra(schema):
            schema.pop("required")
            schema.pop("type")


class Cat(Model):
    kind: Literal["cat", "kitten"]
    lives: int = 9


class Dog(Model):
    kind: Literal["dog"]
    color: Literal["black", "brown"]


class BlackDog(Model):
    kind: Literal["dog"]
    color: Literal["black"]


class BrownDog(Model):
    kind: Literal["dog"]
    color: Literal["brown"]


class Bird(Model):
    kind: Literal[Shade.light] = Field(alias="Kind")


class Fish(Model):
    kind: Literal[Shade.dark, "fish"] = Field(alias="Kind")


class One(Model):
    n: Literal[1]


class Two(Model):
    n: Literal[2, 3]


class Nine(Model):
    n: Literal[9]


class Ten(Model):
    n: Literal[10, 100]


class Yes(Model):
    ok: Literal[True]


class No(Model):
    ok: Literal[False]


Dogs = Annotated[Union[BlackDog, BrownDog], Field(discriminator="color")]


class Discriminated(Model):
    pet: Union[Cat, Dog] = Field(discriminator="kind")
    maybe: Optional[Union[Cat, Dog]] = Field(None, discriminator="kind", description="d")
    many: List[Annotated[Union[Cat, Dog], Field(discriminator="kind")]]
    by_name: Dict[str, Annotated[Union[Cat, Dog], Field(discriminator="kind")]]
    nested: Annotated[Union[Cat, Dogs], Field(discriminator="kind")]
    inside: Union[Annotated[Union[Cat, Dog], Field(discriminator="kind")], int]
    aliased: Union[Bird, Fish] = Field(discriminator="kind")
    numbers: Union[One, Two] = Field(discriminator="n")
    flags: Union[Yes, No] = Field(discriminator="ok")
    large_numbers: Union[Ten, Nine] = Field(discriminator="n")


# Other ways to declare


class Movie(TypedDict):
    name: str
    year: Optional[int]


class PartialMovie(Movie, total=False):
    stars: int
    cast: List[Small]


class Sparse(TypedDict):
    a: int
    b: NotRequired[str]


class TypedDicts(Model):
    movie: Movie
    partial: PartialMovie
    sparse: List[Sparse]
    described: Movie = Field(description="d")
    defaulted: Movie = {"name": "x", "year": None}


class TypedDictsStrict(Model):
    """With a configuration, which the dictionaries take over."""

    movie: Movie

    class Config:
        title = "Strict"
        extra = "forbid"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


@dataclasses.dataclass
class Line:
    """Two points."""

    a: Point
    b: Point = dataclasses.field(default_factory=lambda: Point(1))
    color: Shade = Shade.dark


class Dataclasses(Model):
    point: Point
    line: Line
    points: List[Point]
    defaulted: Point = Point(1, 2)
    described: Point = Field(description="d")


class Coordinates(NamedTuple):
    x: int
    y: float = 0.5
    label: Optional[str] = None


class Marked(NamedTuple):
    shade: Shade
    where: Coordinates


class NamedTuples(Model):
    coordinates: Coordinates
    many: List[Coordinates]
    defaulted: Coordinates = Coordinates(1)
    plain: collections.namedtuple("Plain", "a b")


class NamedTupleOfModels(Model):
    """The library writes a reference here and forgets the definition."""

    marked: Marked


Metres = NewType("Metres", float)


class OtherTypes(Model):
    json_text: Json
    json_list: Json[List[int]]
    json_model: Json[Small]
    json_any: Json[Any]
    json_in_list: List[Json]
    none: None
    none_or_int: Union[None, int]
    list_of_none: List[None]
    empty_tuple: Tuple[()]
    empty_tuples: List[Tuple[()]]
    bare_tuple: tuple
    bare_list: list
    bare_set: set
    bare_frozenset: frozenset
    any_tuple: Tuple[Any, ...]
    sequence: Sequence[int]
    iterable: Iterable[str]
    deque: Deque[int]
    anything: object
    a_type: Type[int]
    a_var: T
    callable: Callable[[int], int]
    metres: Metres
    annotated: Annotated[int, Field(ge=1, description="a")]
    secret: SecretStr
    secret_bytes: SecretBytes
    secret_limited: SecretStr = Field(max_length=9)
    url: AnyUrl
    http: HttpUrl
    any_http: AnyHttpUrl
    dsn: PostgresDsn
    path: Path
    file: FilePath
    directory: DirectoryPath
    pattern: Pattern
    compiled: re.Pattern
    ipv4: IPv4Address
    ipv6: IPv6Address
    ipv4net: IPv4Network
    ipv6net: IPv6Network
    ipv4if: IPv4Interface
    ipv6if: IPv6Interface
    color: Color
    card: PaymentCardNumber
    size: ByteSize
    uuid1: UUID1
    uuid3: UUID3
    uuid5: UUID5
    moment: datetime
    day: date
    clock: time
    span: timedelta
    spans: List[timedelta]
    urls: Dict[str, HttpUrl]


class NeverSame(ConstrainedStr):
    @classmethod
    def __modify_schema__(cls, field_schema):
        field_schema.update(type="string", format="never", examples=["x"])


class Odd1:
    @classmethod
    def __get_validators__(cls):
        yield lambda v: v

    @classmethod
    def __modify_schema__(cls, field_schema):
        field_schema["anyOf"] = [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "x": 1}]


class OwnTypes(Model):
    never: NeverSame
    nevers: List[NeverSame]
    odd: Odd1
    odds: List[Odd1]
    either: Union[Odd1, int]


# Defaults


class Defaults(Model):
    nan: float = float("nan")
    inf: float = float("inf")
    minus_inf: float = float("-inf")
    minus_zero: float = -0.0
    float_of_int: float = 1
    large: int = 2**100
    flag: bool = False
    flag_of_int: bool = 0
    none: Optional[int] = None
    moment: datetime = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    naive: datetime = datetime(2026, 1, 2)
    day: date = date(2026, 1, 2)
    clock: time = time(3, 4, 5)
    span: timedelta = timedelta(days=1, microseconds=5)
    decimal: Decimal = Decimal("1.10")
    decimal_whole: Decimal = Decimal("1E+2")
    raw: bytes = "é".encode()
    set_of_one: Set[str] = {"a"}
    frozen: FrozenSet[int] = frozenset([1])
    enum: Shade = Shade.light
    enums: List[Rank] = [Rank.low, Rank.high]
    model: Small = Small(a=7)
    models: Dict[str, List[Small]] = {"x": [Small(), Small(a=0)]}
    tuple_: Tuple[int, str] = (1, "x")
    uuid: UUID = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    path: Path = Path("/tmp/x")
    pattern: Pattern = re.compile("^a")
    ip: IPv4Address = IPv4Address("127.0.0.1")
    secret: SecretStr = SecretStr("hidden")
    url: HttpUrl = "http://example.org"
    color: Color = Color("red")
    wrong: int = "text"
    keys: Dict[int, str] = {1: "a", 2: "b"}
    text: str = "é\U0001f600\u2028\x7f\\\""
    empty: str = ""
    empty_list: list = []
    factory: UUID = Field(default_factory=uuid4)
    typed: Movie = {"name": "x", "year": None}
    deep: Any = {"a": [1, 2.0, None, {"b": float("inf")}]}
    of_class: Any = Shade.dark


class NumberKeys(Model):
    """Numbers as keys are sorted as numbers."""

    whole: Dict[int, str] = {9: "a", 10: "b"}
    real: List[Dict[float, Tuple[Dict[Rank, int], str]]] = [{2.5: ({Rank.low: 1}, "x"), 1e16: ({}, "y")}]
    text: Dict[str, int] = {"a": 1, "b": 2}


class Names(Model):
    größe: int
    名前: str
    Straße: str
    ΟΔΟΣ: int
    camelCase: int
    HTTPCode: int
    x1y2: int
    __dunder: int = 0
    aliased: int = Field(alias="with blanks and — dashes")
    quoted: int = Field(alias="don't \"quote\"")
    dotted: int = Field(alias="a.b[0]")
    empty_title: int = Field(title="")
    emoji: int = Field(alias="🤖_robot")
    dollar: int = Field(alias="$ref")
    type_: int = Field(alias="type")


class 名前付き(Model):
    """文書"""

    値: Optional["名前付き"]


class Documented(Model):
    """First line.

        Indented.
    Tabs\tinside, trailing blanks   

    """

    a: int


class Empty(Model):
    pass


class EmptyClosed(Model):
    class Config:
        extra = "forbid"


class EmptyOpen(Model):
    class Config:
        extra = "allow"
        title = "Open — offen"


class Private(Model):
    a: int
    _hidden: int = 5

    class Config:
        underscore_attrs_are_private = True


class Generated(Model):
    class Config:
        alias_generator = lambda name: "".join(part.title() for part in name.split("_"))  # noqa: E731

    user_name: str
    user_shade: List[Shade] = Field(description="d")


class FieldConfig(Model):
    a: int
    b: Small

    class Config:
        fields = {"a": {"title": "From Config", "description": "d"}, "b": "bee"}
